/** Flags of a memory with a maximum that is not shared. */
export const HAS_MAXIMUM: number
/** Flags of a memory with a maximum that threads share. */
export const SHARED_WITH_MAXIMUM: number
/** The place of the flags in the bytes of a module whose imports are functions and one memory; undefined where it imports none. */
export function findMemoryFlags(module: Uint8Array): number | undefined
