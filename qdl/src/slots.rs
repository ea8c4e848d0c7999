//! Slot table: finds the sample that a reply belongs to.
//!
//! The id on the wire contains an index into this table, never LoadGen's response id, which is a
//! pointer. Each use of a slot has a new generation, and the number of the lane is part of the id.
//! An id that is unknown, stale, repeated or another lane's therefore finds nothing: completing a
//! wrong sample would corrupt LoadGen's memory.

const SLOT_BITS: u32 = 24;
const GENERATION_BITS: u32 = 24;

/// Generations begin at 1, so no id is 0: a message without an id has 0.
const FIRST_GENERATION: u32 = 1;
const LAST_GENERATION: u32 = (1 << GENERATION_BITS) - 1;

/// Maximum number of slots: ids have 24 bits for the index.
pub(crate) const MAX_SLOTS: usize = 1 << SLOT_BITS;

#[cfg_attr(test, derive(Clone))]
struct Slot<T> {
    generation: u32,
    content: Option<T>,
}

/// Slots of one lane. Their number is the maximum number of samples that were in flight at the same
/// time.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct SlotTable<T> {
    lane: u16,
    capacity: usize,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> SlotTable<T> {
    /// Creates the table of the lane with this number, for at most `capacity` samples in flight.
    pub(crate) fn new(lane: u16, capacity: usize) -> Self {
        let capacity = capacity.min(MAX_SLOTS);
        Self { lane, capacity, slots: Vec::new(), free: Vec::new() }
    }

    /// Inserts the content into a slot and returns the id to send. Returns the content if the table
    /// is full.
    pub(crate) fn insert(&mut self, content: T) -> Result<u64, T> {
        if self.free.is_empty() && self.slots.len() < self.capacity {
            self.free.push(self.slots.len() as u32);
            self.slots.push(Slot { generation: FIRST_GENERATION, content: None });
        }
        let Some(index) = self.free.pop() else { return Err(content) };
        let slot = &mut self.slots[index as usize];
        slot.content = Some(content);
        Ok(id(self.lane, slot.generation, index))
    }

    /// Removes the content of this id's slot, and frees the slot. `None` if the id belongs to no
    /// sample in flight.
    pub(crate) fn remove(&mut self, wanted: u64) -> Option<T> {
        let (index, slot) = self.slot(wanted)?;
        let content = slot.content.take()?;
        slot.generation = next(slot.generation);
        self.free.push(index);
        Some(content)
    }

    /// Returns the content of this id's slot. `None` if the id belongs to no sample in flight.
    pub(crate) fn get_mut(&mut self, wanted: u64) -> Option<&mut T> {
        self.slot(wanted)?.1.content.as_mut()
    }

    /// Returns the slot of this id, with its index.
    fn slot(&mut self, wanted: u64) -> Option<(u32, &mut Slot<T>)> {
        let index = (wanted & (MAX_SLOTS as u64 - 1)) as u32;
        let slot = self.slots.get_mut(index as usize)?;
        (id(self.lane, slot.generation, index) == wanted).then_some((index, slot))
    }

    /// Returns the number of slots in use.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Iterates over all samples in flight.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.content.as_ref())
    }

    /// Removes all samples in flight, and accepts no more.
    pub(crate) fn retire(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.capacity = 0;
        self.free = Vec::new();
        std::mem::take(&mut self.slots).into_iter().filter_map(|slot| slot.content)
    }
}

fn next(generation: u32) -> u32 {
    if generation == LAST_GENERATION { FIRST_GENERATION } else { generation + 1 }
}

fn id(lane: u16, generation: u32, index: u32) -> u64 {
    u64::from(lane) << (SLOT_BITS + GENERATION_BITS)
        | u64::from(generation) << SLOT_BITS
        | u64::from(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_is_0() {
        let mut table = SlotTable::new(0, 1);
        assert_eq!(table.insert("a"), Ok(1 << SLOT_BITS));
        assert_eq!(table.remove(0), None);
        assert_eq!(next(LAST_GENERATION), FIRST_GENERATION);
    }

    /// Tries every sequence of steps up to a length: inserting, and removing each id that was ever
    /// returned and ids that never were.
    fn try_all(table: &SlotTable<u8>, live: &[(u64, u8)], gone: &[u64], left: u8) {
        let Some(left) = left.checked_sub(1) else { return };
        let mut next = table.clone();
        match next.insert(left) {
            Ok(id) => {
                assert!(live.len() < 2 && !gone.contains(&id));
                assert!(live.iter().all(|(other, _)| *other != id));
                try_all(&next, &[live, &[(id, left)]].concat(), gone, left);
            }
            Err(content) => assert_eq!((content, live.len()), (left, 2)),
        }
        for (place, (id, content)) in live.iter().enumerate() {
            let mut next = table.clone();
            assert_eq!(next.get_mut(*id), Some(&mut content.clone()));
            assert_eq!(next.remove(*id), Some(*content));
            let mut others = live.to_vec();
            others.remove(place);
            try_all(&next, &others, &[gone, &[*id]].concat(), left);
        }
        let foreign = live.iter().map(|(id, _)| id ^ (1 << 48));
        for id in gone.iter().copied().chain(foreign).chain([u64::MAX, 3]) {
            let mut next = table.clone();
            assert_eq!(next.get_mut(id), None);
            assert_eq!(next.remove(id), None);
            assert!(next.iter().eq(table.iter()), "nothing has changed");
        }
        let mut kept: Vec<_> = table.clone().retire().collect();
        let mut expected: Vec<_> = live.iter().map(|(_, content)| *content).collect();
        kept.sort_unstable();
        expected.sort_unstable();
        assert_eq!(kept, expected);
    }

    #[test]
    fn no_sequence_of_steps_confuses_two_samples() {
        try_all(&SlotTable::new(1, 2), &[], &[], 12);
    }
}
