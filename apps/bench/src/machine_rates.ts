import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { InstructionSet } from '@cudnn-rnn/rnn/executors'
import { buildNativeProgram } from './native_program.js'

/** A rate on one thread, and on all threads together. */
type RatePair = readonly [one: number, all: number]

/** Rates of this machine, as native/machine_rates measures them. */
export interface MachineRates {
  readonly threads: number
  /** Independent float32 multiply-adds in registers, 10⁹ operations per second, two each. */
  readonly gflops: RatePair
  /** Reading of a matrix of `bytes` again and again, each thread its own part, in GB/s; sizes ascend. */
  readonly reads: readonly { readonly bytes: number; readonly gigabytes: RatePair }[]
  /** Nanoseconds in which all threads learn that the last one arrived; 0 for one thread. */
  readonly barrierNs: number
}

const FLAGS: Readonly<Record<InstructionSet, readonly string[]>> = {
  'avx512-vnni': ['-mavx512f', '-mfma'],
  avx512: ['-mavx512f', '-mfma'],
  'avx2-vnni': ['-mavx2', '-mfma'],
  avx2: ['-mavx2', '-mfma'],
  'neon-i8mm-bf16': [],
  'neon-dotprod': [],
  neon: [],
  portable: [],
}

/** Measures the rates with the vectors of an instruction set; undefined: the widest of this processor. Throws without g++. */
export async function measureMachineRates(
  threads: number,
  instructionSet: InstructionSet | undefined,
): Promise<MachineRates> {
  const vectors = instructionSet === undefined ? ['-march=native'] : FLAGS[instructionSet]
  const program = buildNativeProgram({
    name: 'machine_rates',
    output: `machine_rates_${instructionSet ?? 'native'}`,
    flags: [...vectors, '-ffp-contract=fast', '-pthread'],
    packages: [],
  })
  const { stdout } = await promisify(execFile)(program, [String(threads)])
  return { threads, ...(JSON.parse(stdout) as Omit<MachineRates, 'threads'>) }
}

/** The better of two measurements, value by value: other work on the machine can only make one worse. */
export function betterRates(first: MachineRates, second: MachineRates): MachineRates {
  const better = (a: RatePair, b: RatePair): RatePair => [Math.max(a[0], b[0]), Math.max(a[1], b[1])]
  return {
    threads: first.threads,
    gflops: better(first.gflops, second.gflops),
    reads: first.reads.map(({ bytes, gigabytes }, index) => ({
      bytes,
      gigabytes: better(gigabytes, second.reads[index].gigabytes),
    })),
    barrierNs: Math.min(first.barrierNs, second.barrierNs),
  }
}

/** GB/s at which a matrix of `bytes` is read at best: the largest rate measured for it or a larger one. */
export function readRate({ reads }: MachineRates, bytes: number, place: 0 | 1): number {
  const next = reads.findLastIndex((read) => read.bytes <= bytes)
  return Math.max(...reads.slice(Math.max(next, 0)).map(({ gigabytes }) => gigabytes[place]))
}
