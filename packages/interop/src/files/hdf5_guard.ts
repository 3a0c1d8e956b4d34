/**
 * Structures on which the HDF5 library runs forever when a file has them otherwise than any writer: objects of a global heap
 * that are shorter than their own headers, and nodes of a B-tree whose siblings form a cycle. They are seen as the
 * library reads them: it reads each from its first byte on. Source: HDF5 File Format Specification, III.A.1 and III.E.
 */
export class Hdf5Guard {
  /** Right sibling by the address of a B-tree node. */
  readonly #siblings = new Map<number, number>()

  /** Whether the library may go on with the bytes that it reads at `position`. */
  allows(position: number, bytes: Uint8Array): boolean {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const begins = (signature: string) => {
      return bytes.length >= 24 && [...signature].every((letter, index) => bytes[index] === letter.charCodeAt(0))
    }
    if (begins('GCOL')) return hasWholeObjects(view)
    if (begins('TREE')) return this.#ends(position, Number(view.getBigUint64(16, true)))
    return true
  }

  #ends(node: number, right: number): boolean {
    this.#siblings.set(node, right)
    let next: number | undefined = right
    for (let steps = 0; next !== undefined && steps <= this.#siblings.size; steps++) {
      if (next === node) return false
      next = this.#siblings.get(next)
    }
    return next === undefined
  }
}

const HEAP_HEADER_BYTES = 16
const OBJECT_HEADER_BYTES = 16

/** A heap of objects: index, count of references, size; index 0 is free space, whose size has its header in it. */
function hasWholeObjects(view: DataView): boolean {
  const size = Math.min(Number(view.getBigUint64(8, true)), view.byteLength)
  for (let at = HEAP_HEADER_BYTES; at + OBJECT_HEADER_BYTES <= size; ) {
    const bytes = Number(view.getBigUint64(at + 8, true))
    const isFree = view.getUint16(at, true) === 0
    const taken = isFree ? bytes : OBJECT_HEADER_BYTES + 8 * Math.ceil(bytes / 8)
    if (taken < OBJECT_HEADER_BYTES || at + taken > Number(view.getBigUint64(8, true))) return false
    at += taken
  }
  return true
}
