/** A WebAssembly module, compressed with gzip, in base64. */
export const moduleBytes: string
