use super::*;

fn spec(name: &str, data_type: DataType, shape: &[i64]) -> TensorSpec {
    TensorSpec { name: name.into(), data_type: data_type as i32, shape: shape.to_vec() }
}

fn images() -> InputLayout {
    InputLayout { tensors: vec![spec("image", DataType::Uint8, &[1, 2, 3])] }
}

fn tokens() -> InputLayout {
    let ids = spec("ids", DataType::Int64, &[-1]);
    InputLayout { tensors: vec![ids, spec("mask", DataType::Uint8, &[-1])] }
}

#[test]
fn a_raw_payload_is_the_tensor_itself() {
    let tensors = read(&images(), &[1, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!(tensors[0].data, [1, 2, 3, 4, 5, 6]);
    assert_eq!(tensors[0].shape, [1, 2, 3]);
    let short = read(&images(), &[1, 2]).unwrap_err();
    assert_eq!(short.to_string(), "the payload has 2 bytes, uint8[1, 2, 3] needs 6");
}

#[test]
fn packed_tensors_come_back_and_are_checked_against_the_layout() {
    let ids = [7_i64.to_le_bytes(), 8_i64.to_le_bytes()].concat();
    let ids = TensorView { data_type: DataType::Int64, shape: vec![2], data: &ids };
    let mask = TensorView { data_type: DataType::Uint8, shape: vec![2], data: &[1, 0] };
    let payload = pack(&[mask.clone(), ids.clone()]);
    assert_eq!(unpack(&payload).unwrap(), [mask.clone(), ids.clone()]);
    let wrong = read(&tokens(), &payload).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "the payload holds uint8[2] + int64[2], the model takes int64[?] + uint8[?]"
    );
    let payload = pack(&[ids.clone(), mask.clone()]);
    assert_eq!(read(&tokens(), &payload).unwrap(), [ids, mask]);
}

#[test]
fn the_packed_layout_is_the_documented_one() {
    let mask = TensorView { data_type: DataType::Uint8, shape: vec![3], data: &[9, 8, 7] };
    let golden = [
        1, 0, 0, 0, 0, 0, 0, 0, // one tensor, zero
        1, 0, 0, 0, 1, 0, 0, 0, // uint8, rank 1
        3, 0, 0, 0, 0, 0, 0, 0, // length 3
        9, 8, 7,
    ];
    assert_eq!(pack(&[mask])[..], golden);
}

#[test]
fn a_shape_that_overflows_is_an_error() {
    let mut payload = vec![1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0];
    payload.extend([0xff; 16]);
    assert_eq!(unpack(&payload), Err(LayoutError::Damaged("a shape overflows")));
}
