declare module 'snappyjs' {
  /** Throws when the data is damaged or would become longer than `maximumLength`. */
  export function uncompress(compressed: Uint8Array, maximumLength?: number): Uint8Array
  export function compress(contents: Uint8Array): Uint8Array
}
