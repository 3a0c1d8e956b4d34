// The flags of the memory that a module imports (https://webassembly.github.io/spec/core/binary/modules.html#import-section,
// limits of memory types).

/** Flags of a memory with a maximum that is not shared. */
export const HAS_MAXIMUM = 1
/** Flags of a memory with a maximum that threads share. */
export const SHARED_WITH_MAXIMUM = 3

const IMPORT_SECTION = 2
const MEMORY = 2

/** The place of the flags in the bytes of a module whose imports are functions and one memory; undefined if it imports none. */
export function findMemoryFlags(module) {
  let at = 8
  const number = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = module[at++]
      value |= (byte & 127) << shift
      if (byte < 128) return value
    }
  }
  const skipName = () => {
    const length = number()
    at += length
  }
  while (at < module.length) {
    const section = module[at++]
    const end = number() + at
    if (section === IMPORT_SECTION) {
      for (let left = number(); left > 0; left--) {
        skipName()
        skipName()
        if (module[at++] === MEMORY) return at
        // A function: the number of its type.
        number()
      }
    }
    at = end
  }
  return undefined
}
