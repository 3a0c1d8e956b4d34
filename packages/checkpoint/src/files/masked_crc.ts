const MASK_DELTA = 0xa282ead8

/**
 * The form in which TensorFlow's files store a checksum: rotated and shifted, because the CRC of data that contains its own
 * CRC is weak. Source: tensorflow/core/lib/hash/crc32c.h.
 */
export function maskCrc(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0
}

/** The inverse of {@link maskCrc}. */
export function unmaskCrc(masked: number): number {
  const rotated = (masked - MASK_DELTA) >>> 0
  return ((rotated >>> 17) | (rotated << 15)) >>> 0
}
