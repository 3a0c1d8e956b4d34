import { Random } from './random.js'

/** A file that a grammar has built. */
export interface ConstructedFile {
  /** The size of the file's contents, unpacked, in bytes. */
  readonly heldBytes: number
  /** Time of the processor that reading it may take; default 10 s. */
  readonly longestMilliseconds?: number | undefined
  /** Reads all of it; rejects with coded errors alone, and throws for any result that cannot be right. */
  read(): Promise<void>
}

/** Builds a file out of random choices. */
export type Grammar = (random: Random) => ConstructedFile | Promise<ConstructedFile>

/** Results of a run. */
export interface FuzzCounts {
  files: number
  /** Files read to the end, and those refused, by grammar and code. */
  readonly outcomes: Record<string, Record<string, number>>
  slowestMilliseconds: number
  /** Growth of the process's peak memory since the first files. */
  peakGrowthBytes: number
}

export interface FuzzOptions {
  readonly grammars: Readonly<Record<string, Grammar>>
  /** How many of so many files are of each grammar; default one. */
  readonly shares?: Readonly<Record<string, number>> | undefined
  readonly files: number
  readonly seed: number
  /** The first file; others than 0 repeat part of a run. */
  readonly first?: number | undefined
  readonly isCoded: (error: unknown) => boolean
  /** Called before each file. */
  readonly onFile?: ((file: number, grammar: string) => void) | undefined
}

/** CPU time, which other programs do not affect. A file normally takes milliseconds; this much is not linear. */
const LONGEST_MILLISECONDS = 10_000
/** Reading may take four times the size of the file's contents plus FREE_BYTES. */
const LARGEST_GROWTH = 4
const FREE_BYTES = 2 ** 26
/** Files until the process has loaded and compiled its code. */
const WARM_UP = 300

/**
 * Builds and reads files. A file must be read or refused with a code, in bounded time and memory, and change no prototype.
 *
 * @throws Error naming seed, file and grammar
 */
export async function fuzzFiles(options: FuzzOptions): Promise<FuzzCounts> {
  const { grammars, shares = {}, files, seed, first = 0, isCoded, onFile } = options
  const choices = Object.entries(grammars).flatMap(([name, build]) =>
    Array.from({ length: shares[name] ?? 1 }, () => ({ name, build })),
  )
  const counts: FuzzCounts = { files: 0, outcomes: {}, slowestMilliseconds: 0, peakGrowthBytes: 0 }
  const prototypes = prototypeKeys()
  let floor = peakBytes()
  for (let file = first; file < first + files; file++) {
    // Each file has its own stream, so that one can be repeated alone.
    const random = new Random(seed, file)
    const { name: grammar, build } = choices[file % choices.length]
    onFile?.(file, grammar)
    const fail = (rule: string, cause?: unknown) =>
      new Error(`seed ${seed}, file ${file} of grammar ${grammar}: ${rule}`, { cause })
    const built = await build(random)
    const before = peakBytes()
    const began = processorMilliseconds()
    const outcome = await built.read().then(
      () => 'read',
      (error: unknown) => {
        if (isCoded(error)) return (error as { code: string }).code
        throw fail('it ends in an error without a code', error)
      },
    )
    const elapsed = processorMilliseconds() - began
    if (elapsed > (built.longestMilliseconds ?? LONGEST_MILLISECONDS)) throw fail(`it takes ${Math.round(elapsed)} ms`)
    if (prototypeKeys() !== prototypes) throw fail('it changes a prototype')
    if (counts.files < WARM_UP) floor = Math.max(floor, peakBytes())
    else {
      const growth = peakBytes() - Math.max(floor, before)
      const bound = LARGEST_GROWTH * built.heldBytes + FREE_BYTES
      if (growth > bound) throw fail(`it takes ${growth} bytes of memory for ${built.heldBytes}`)
      counts.peakGrowthBytes = Math.max(counts.peakGrowthBytes, peakBytes() - floor)
    }
    counts.files++
    counts.slowestMilliseconds = Math.max(counts.slowestMilliseconds, elapsed)
    const outcomes = counts.outcomes[grammar] ?? {}
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    counts.outcomes[grammar] = outcomes
  }
  return counts
}

function peakBytes(): number {
  return process.resourceUsage().maxRSS * 1024
}

function processorMilliseconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function prototypeKeys(): string {
  const prototypes: object[] = [Object.prototype, Array.prototype, Map.prototype, Function.prototype]
  return prototypes.map((prototype) => Reflect.ownKeys(prototype).length).join()
}
