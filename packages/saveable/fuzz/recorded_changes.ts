import type { FileHandle } from 'node:fs/promises'
import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { type FileCall, interceptCalls } from './file_calls.js'

/** A file, or a directory if it has no bytes, under any names. */
export interface Node {
  /** Its bytes before the first change. */
  readonly before: Uint8Array | undefined
}

/** A change that a disk receives. */
export type Change =
  | { readonly kind: 'bytes'; readonly node: Node; readonly at: number; readonly bytes: Uint8Array }
  /** Names of one directory: a rename has both. */
  | {
      readonly kind: 'names'
      readonly node: Node
      readonly directory: Node
      readonly removed?: string | undefined
      readonly added?: string | undefined
    }
  | { readonly kind: 'flush'; readonly node: Node }

/** Files by their paths in a folder, `.` for the folder itself. */
export type Tree = ReadonlyMap<string, Node>

export async function treeOf(folder: string): Promise<Tree> {
  const tree = new Map<string, Node>([['.', { before: undefined }]])
  for (const path of await readdir(folder, { recursive: true })) {
    const full = join(folder, path)
    tree.set(path, { before: (await stat(full)).isDirectory() ? undefined : await readFile(full) })
  }
  return tree
}

/**
 * The changes that `work` makes to the files of a folder, in their order. Without `links`, the file system has no hard
 * links.
 */
export async function recordChanges(
  folder: string,
  before: Tree,
  work: () => Promise<unknown>,
  { links = true } = {},
): Promise<Change[]> {
  const changes: Change[] = []
  const tree = new Map(before)
  const handles = new Map<FileHandle, { readonly node: Node; position: number }>()
  const nameOf = (path: unknown) => relative(folder, String(path)) || '.'
  const named = (name: string) => {
    const node = tree.get(name)
    if (node === undefined) throw new Error(`${name} is unknown`)
    return node
  }
  const names = (node: Node, removed: string | undefined, added: string | undefined) => {
    changes.push({ kind: 'names', node, directory: named(dirname(added ?? removed ?? '')), removed, added })
    if (removed !== undefined) tree.delete(removed)
    if (added !== undefined) tree.set(added, node)
  }

  const record = ({ name, args, file }: FileCall, result: unknown) => {
    const path = nameOf(args[0])
    if (name === 'mkdir') names({ before: undefined }, undefined, path)
    else if (name === 'open') {
      if (args[1] === 'wx' && !tree.has(path)) names({ before: new Uint8Array() }, undefined, path)
      handles.set(result as FileHandle, { node: named(path), position: 0 })
    } else if (name === 'link') names(named(path), undefined, nameOf(args[1]))
    else if (name === 'rename') names(named(path), path, nameOf(args[1]))
    else if (name === 'rm') {
      if (tree.has(path)) names(named(path), path, undefined)
    } else if (name === 'write') {
      const handle = handles.get(file!)!
      const { bytesWritten } = result as { bytesWritten: number }
      const [buffer, offset] = args as [Uint8Array, number]
      const bytes = Uint8Array.from(buffer.subarray(offset, offset + bytesWritten))
      changes.push({ kind: 'bytes', node: handle.node, at: handle.position, bytes })
      handle.position += bytesWritten
    } else if (name === 'sync') changes.push({ kind: 'flush', node: handles.get(file!)!.node })
    else if (name !== 'close' && name !== 'readFile') throw new Error(`${name} cannot be recorded`)
  }

  const restore = interceptCalls(folder, async (call, real) => {
    if (call.name === 'link' && !links) {
      throw Object.assign(new Error('ENOTSUP: operation not supported, link'), { code: 'ENOTSUP', syscall: 'link' })
    }
    const result = await real()
    record(call, result)
    return result
  })
  try {
    await work()
  } finally {
    restore()
  }
  return changes
}
