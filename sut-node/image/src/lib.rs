//! JPEG files to pixels, as the reference implementations of the benchmarks prepare them.

use fast_image_resize::{
    FilterType, ResizeAlg, ResizeOptions, Resizer,
    images::{TypedImage, TypedImageRef},
    pixels::U8x3,
};
use zune_jpeg::{
    JpegDecoder,
    zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions},
};

/// Maximum number of pixels of an image, decoded or resized: a few bytes must not request
/// gigabytes.
const MAX_PIXELS: usize = 1 << 26;

/// Maximum side of a JPEG, in pixels: the format's limit.
pub const MAX_SIDE: usize = 65_535;

/// Decoded image: `data` has a byte for red, green and blue of each pixel, row by row.
#[derive(Debug)]
pub struct RgbImage {
    /// Number of columns.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Width × height × 3 bytes.
    pub data: Vec<u8>,
}

/// Decodes a JPEG file. Grey images become coloured ones. A truncated file is decoded up to its
/// end, as in the reference. An orientation in EXIF data is ignored.
///
/// # Errors
///
/// Fails if the bytes are no JPEG, or if the image is too large.
pub fn decode(jpeg: &[u8]) -> Result<RgbImage, String> {
    let options = DecoderOptions::default()
        .set_max_width(MAX_SIDE)
        .set_max_height(MAX_SIDE)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
    let not_a_jpeg =
        |error: &dyn std::fmt::Display| format!("not a JPEG that can be decoded: {error}");
    decoder.decode_headers().map_err(|error| not_a_jpeg(&error))?;
    let (width, height) = decoder.dimensions().ok_or("not a JPEG: it has no size")?;
    check_size(width, height)?;
    let data = decoder.decode().map_err(|error| not_a_jpeg(&error))?;
    if width == 0 || height == 0 || data.len() != width * height * 3 {
        return Err(format!("not a colour or grey JPEG: {width} x {height}, {} bytes", data.len()));
    }
    Ok(RgbImage { width, height, data })
}

/// Checks the number of pixels.
///
/// # Errors
///
/// Fails if there are too many.
pub fn check_size(width: usize, height: usize) -> Result<(), String> {
    match width.saturating_mul(height) {
        0..=MAX_PIXELS => Ok(()),
        _ => Err(format!("{width} x {height} pixels are more than {MAX_PIXELS}")),
    }
}

/// Resizes the short side to `short` pixels, keeping the aspect ratio, with the antialiased
/// bilinear filter of the Python Imaging Library (like `pre_process_imagenet_pytorch` of the
/// reference). Values may differ by one, since the axes are filtered in the other order.
///
/// # Errors
///
/// Fails if the result has too many pixels.
pub fn resize_short_side(image: RgbImage, short: usize) -> Result<RgbImage, String> {
    let (width, height) = if image.width <= image.height {
        (short, short * image.height / image.width)
    } else {
        (short * image.width / image.height, short)
    };
    if (width, height) == (image.width, image.height) {
        return Ok(image);
    }
    check_size(width, height)?;
    let side = |length| u32::try_from(length).map_err(|_| "the image is too long".to_owned());
    let failed = |error: &dyn std::fmt::Display| format!("cannot be resized: {error}");
    // `Resizer::resize` contains the filters for all types of pixels: a third of `sut-node`'s code.
    let from =
        TypedImageRef::<U8x3>::from_buffer(side(image.width)?, side(image.height)?, &image.data)
            .map_err(|error| failed(&error))?;
    let mut data = vec![0; width * height * 3];
    let mut to = TypedImage::<U8x3>::from_buffer(side(width)?, side(height)?, &mut data)
        .map_err(|error| failed(&error))?;
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear));
    Resizer::new().resize_typed(&from, &mut to, &options).map_err(|error| failed(&error))?;
    Ok(RgbImage { width, height, data })
}

/// Copies the middle of an image, as torchvision defines it (half a pixel is rounded to even). `to`
/// has height × width × 3 bytes.
///
/// # Errors
///
/// Fails if the image is smaller than that.
pub fn centre_crop(
    image: &RgbImage,
    height: usize,
    width: usize,
    to: &mut [u8],
) -> Result<(), String> {
    if image.width < width || image.height < height {
        return Err(format!(
            "the image has {} x {} pixels, but the model requires {width} x {height}",
            image.width, image.height
        ));
    }
    let half = |room: usize| (room as f64 / 2.0).round_ties_even() as usize;
    let (left, top) = (half(image.width - width), half(image.height - height));
    for (row, to) in to.chunks_exact_mut(width * 3).take(height).enumerate() {
        let start = ((top + row) * image.width + left) * 3;
        to.copy_from_slice(&image.data[start..start + width * 3]);
    }
    Ok(())
}

/// Resizes an image to exactly this height and width. Interpolates between two pixels on each axis,
/// without antialiasing, and rounds to whole numbers. Equals OpenCV's `INTER_LINEAR`, which
/// `pre_process_openimages_retinanet` of the reference uses. `to` has height × width × 3 bytes.
pub fn stretch(image: &RgbImage, height: usize, width: usize, to: &mut [u8]) {
    let columns: Vec<_> = (0..width).map(|x| Tap::new(x, image.width, width)).collect();
    for (y, row) in to.chunks_exact_mut(width * 3).take(height).enumerate() {
        let tap = Tap::new(y, image.height, height);
        let line = |y: usize| &image.data[y * image.width * 3..][..image.width * 3];
        let (upper, lower) = (line(tap.first), line(tap.second));
        for (pixel, column) in row.chunks_exact_mut(3).zip(&columns) {
            for (channel, to) in pixel.iter_mut().enumerate() {
                let mix = |line: &[u8]| {
                    let (a, b) =
                        (line[column.first * 3 + channel], line[column.second * 3 + channel]);
                    f32::from(a) * (1.0 - column.share) + f32::from(b) * column.share
                };
                *to = (mix(upper) * (1.0 - tap.share) + mix(lower) * tap.share).round() as u8;
            }
        }
    }
}

/// Two neighbouring pixels on an axis, and the weight of the second; the weights add up to 1.
struct Tap {
    first: usize,
    second: usize,
    share: f32,
}

impl Tap {
    fn new(to: usize, from_length: usize, to_length: usize) -> Self {
        let at = (to as f64 + 0.5) * from_length as f64 / to_length as f64 - 0.5;
        let at = at.clamp(0.0, (from_length - 1) as f64);
        let first = at as usize;
        Self { first, second: (first + 1).min(from_length - 1), share: (at - first as f64) as f32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_found_as_torchvision_finds_it() {
        // 5 columns to 2: 1.5 is rounded to the even 2; 7 rows to 2: 2.5 is rounded to 2.
        let data = (0..5 * 7 * 3).map(|n| n as u8).collect();
        let image = RgbImage { width: 5, height: 7, data };
        let mut crop = [0; 12];
        centre_crop(&image, 2, 2, &mut crop).unwrap();
        let start = (2 * 5 + 2) * 3;
        assert_eq!(crop[..6], image.data[start..start + 6]);
        assert!(centre_crop(&image, 8, 2, &mut [0; 48]).is_err());
    }

    #[test]
    fn stretching_mixes_neighbours_and_holds_edges() {
        let image = RgbImage { width: 2, height: 1, data: vec![0, 0, 0, 100, 100, 100] };
        let mut to = [0; 12];
        stretch(&image, 1, 4, &mut to);
        assert_eq!(to, [0, 0, 0, 25, 25, 25, 75, 75, 75, 100, 100, 100]);
    }

    #[test]
    fn a_thread_of_pixels_is_not_blown_up() {
        let image = RgbImage { width: 1, height: 16_384, data: vec![0; 16_384 * 3] };
        let error = resize_short_side(image, 256).unwrap_err();
        assert!(error.contains("256 x 4194304 pixels are more than"), "{error}");
        assert!(check_size(1 << 20, 1 << 20).is_err() && check_size(8192, 8192).is_ok());
    }

    #[test]
    fn what_is_not_a_jpeg_is_refused() {
        for bytes in [&b""[..], b"not a jpeg", b"\xff\xd8\xff\xe0\x00\x10JFIF", &[0; 1000]] {
            assert!(decode(bytes).unwrap_err().contains("JPEG"), "{bytes:?}");
        }
    }
}
