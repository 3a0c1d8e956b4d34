import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Random } from '@cudnn-rnn/fuzzing'
import { interceptCalls } from './file_calls.js'
import { type Change, type Node, recordChanges, type Tree, treeOf } from './recorded_changes.js'
import { type Counts, checkInterrupted } from './save_faults.js'
import { SCENARIOS, type ScenarioName, saveStep } from './save_scenarios.js'

/**
 * The changes that a disk may show, of those that it received and did not have to flush before the power failed.
 * - strict: all of them; any moment is possible.
 * - journal: the first names that changed; bytes of a file are there, lost, torn or zeros.
 * - unordered: any names that changed; bytes likewise.
 */
type Disk = 'strict' | 'journal' | 'unordered'

/** Files by their paths. */
type Files = ReadonlyMap<string, Uint8Array | undefined>

/** The part of a name of a lock or temporary file that names its host and boot. */
const OWNER_HOST = /[0-9a-f]{8}(?=-\d+-\d+-\d+-[0-9a-f]{32})/g
const BOOT_BEFORE = '0b007ed0'
/** After so long nothing waits for an owner of another boot. */
const REPAIR_SECONDS = 7200

/**
 * Lets the power fail after changes of a save on a strict disk, all of them or `2 * draws`, and `draws` times at random moments on
 * the others.
 * The old or the new checkpoint is complete, the new one once the save has resolved; the next save succeeds and leaves
 * nothing that is not listed.
 *
 * @throws Error naming the moment and the disk
 */
export async function failPower(
  name: ScenarioName,
  draws: number,
  random: Random,
  options?: { readonly links: boolean },
): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), 'power-failures-'))
  try {
    const run = join(folder, 'run')
    const { before, step } = SCENARIOS[name]
    for (const each of before) await saveStep(run, SCENARIOS[name], each)
    const tree = await treeOf(folder)
    const changes = await recordChanges(folder, tree, () => saveStep(run, SCENARIOS[name], step), options)
    if (changes.some(({ kind }, index) => kind === 'bytes' && !isFlushed(changes, index))) {
      throw new Error(`${name}: bytes are never flushed`)
    }
    const after = filesOf(tree, changes, 'strict', random)
    if (keyOf(after) !== keyOf(filesOf(await treeOf(folder), [], 'strict', random))) {
      throw new Error(`${name}: the record of the changes lacks some`)
    }

    const counts = { interrupted: 0, old: 0, new: 0 }
    const seen = new Set<string>()
    const fail = async (moment: number, disk: Disk) => {
      const files = filesOf(tree, changes.slice(0, moment), disk, random)
      const isResolved = moment === changes.length
      const key = `${keyOf(files)} ${isResolved}`
      if (seen.has(key)) return
      seen.add(key)
      await rm(folder, { recursive: true })
      await putFiles(folder, files)
      // Flushes take most of the time, and change nothing here.
      const restore = interceptCalls(folder, ({ call }, real) => (call === 'fsync' ? undefined : real()))
      try {
        const found = await checkInterrupted(run, name)
        if (isResolved && found === 'old') throw new Error('the save had resolved, and is lost')
        counts.interrupted++
        counts[found]++
      } catch (cause) {
        const shown = [...files.keys()].join(', ')
        throw new Error(`${name}, ${disk} disk, after ${moment} of ${changes.length} changes (${shown})`, { cause })
      } finally {
        restore()
      }
    }
    const stride = Math.ceil(changes.length / (2 * draws))
    for (let moment = changes.length; moment >= 0; moment -= stride) await fail(moment, 'strict')
    // After a name changed most can go wrong, and at the end nothing may be lost.
    const named = changes.flatMap(({ kind }, index) => (kind === 'names' ? [index + 1] : []))
    for (let draw = 0; draw < draws; draw++) {
      const moment = random.pick([random.pick(named), random.pick(named), random.below(changes.length), changes.length])
      await fail(moment, random.pick(['journal', 'unordered', 'unordered']))
    }
    return counts
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A state of the disk when the power fails after some changes. */
function filesOf(tree: Tree, changes: readonly Change[], disk: Disk, random: Random): Files {
  const flushed = changes.map((_, index) => isFlushed(changes, index))
  const lastFlushed = changes.findLastIndex(({ kind }, index) => kind === 'names' && flushed[index])
  const end = lastFlushed + 1 + random.below(changes.length - lastFlushed)
  const loose = changes.flatMap(({ kind }, index) => (kind === 'names' && !flushed[index] ? [index] : []))
  // Often a single one: of many, few subsets are like that.
  const lost = random.chance(0.5) ? [random.pick(loose)] : loose.filter(() => random.chance(0.5))
  const isNamed = {
    strict: () => true,
    journal: (index: number) => index < end,
    unordered: (index: number) => !lost.includes(index),
  }[disk]
  const fates = new Map<Node, 'kept' | 'lost' | 'torn' | 'zeros'>()
  const fateOf = (node: Node, index: number) => {
    if (disk === 'strict' || flushed[index]) return 'kept'
    const fate = fates.get(node) ?? random.pick(['kept', 'lost', 'torn', 'zeros'])
    fates.set(node, fate)
    return fate
  }

  const nodes = new Map(tree)
  const bytes = new Map<Node, Uint8Array>()
  for (const [index, change] of changes.entries()) {
    if (change.kind === 'names' && isNamed(index)) {
      const { node, removed, added } = change
      if (removed !== undefined && nodes.get(removed) === node) nodes.delete(removed)
      if (added !== undefined) nodes.set(added, node)
    } else if (change.kind === 'bytes') {
      const fate = fateOf(change.node, index)
      const written = fate === 'torn' ? change.bytes.subarray(0, change.bytes.length / 2) : change.bytes
      if (fate === 'lost') continue
      const present = bytes.get(change.node) ?? change.node.before ?? new Uint8Array()
      const next = new Uint8Array(Math.max(present.length, change.at + written.length))
      next.set(present)
      if (fate === 'zeros') next.fill(0, change.at, change.at + written.length)
      else next.set(written, change.at)
      bytes.set(change.node, next)
    }
  }
  const isThere = (path: string): boolean => path === '.' || (nodes.has(path) && isThere(dirname(path)))
  return new Map(
    [...nodes].filter(([path]) => isThere(path)).map(([path, node]) => [path, bytes.get(node) ?? node.before]),
  )
}

function isFlushed(changes: readonly Change[], index: number): boolean {
  const change = changes[index]!
  const unit = change.kind === 'names' ? change.directory : change.node
  return changes.some((later, at) => at > index && later.kind === 'flush' && later.node === unit)
}

function keyOf(files: Files): string {
  const hash = createHash('sha256')
  for (const path of [...files.keys()].sort()) hash.update(`${path}\n`).update(files.get(path) ?? '')
  return hash.digest('hex')
}

/** Puts files into a folder as another boot finds them, some hours later. */
async function putFiles(folder: string, files: Files): Promise<void> {
  const then = Date.now() / 1000 - REPAIR_SECONDS
  for (const [path, bytes] of files) {
    const full = join(folder, path.replace(OWNER_HOST, BOOT_BEFORE))
    if (bytes === undefined) await mkdir(full, { recursive: true })
    else {
      const text = Buffer.from(bytes).toString('latin1')
      await mkdir(dirname(full), { recursive: true })
      await writeFile(full, text.replace(OWNER_HOST, BOOT_BEFORE), 'latin1')
      await utimes(full, then, then)
    }
  }
}
