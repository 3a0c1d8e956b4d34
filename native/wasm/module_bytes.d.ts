/** A WebAssembly module, compressed with gzip, in base64. */
export const moduleBytes: string
/** Where the decompressed module has the flags of its memory: 1 as it is, 3 for a shared memory. */
export const memoryFlagsAt: number
