import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCES = fileURLToPath(new URL('../../../native/', import.meta.url))
const FOLDER = fileURLToPath(new URL('../baselines/build/', import.meta.url))

/** A program of one C++ file, native/<name>/<name>.cc. */
export interface NativeProgram {
  readonly name: string
  /** Name of the executable; programs of other flags have other names. */
  readonly output: string
  /** After the source, as libraries have to be. */
  readonly flags: readonly string[]
  /** Debian's packages that it needs beside g++. */
  readonly packages: readonly string[]
}

/** Builds a program with g++ unless it is newer than its source; returns its path. Throws if that fails. */
export function buildNativeProgram({ name, output, flags, packages }: NativeProgram): string {
  const source = join(SOURCES, name, `${name}.cc`)
  const program = join(FOLDER, output)
  if (existsSync(program) && statSync(program).mtimeMs > statSync(source).mtimeMs) return program
  mkdirSync(FOLDER, { recursive: true })
  const args = ['-std=c++17', '-O2', source, '-o', program, ...flags]
  const { status, stderr } = spawnSync('g++', args, { encoding: 'utf8' })
  if (status === 0) return program
  const header = /fatal error: (\S+):/.exec(stderr ?? '')?.[1]
  const reason = header === undefined ? 'g++ could not build it' : `${header} was not found`
  throw new Error(`${reason} (Debian: ${['g++', ...packages].join(' ')})`)
}
