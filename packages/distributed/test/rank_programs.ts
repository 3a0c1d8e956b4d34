import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'

/** Paths of the programs that launchers start, valid in tests. */
export interface RankPrograms {
  readonly folder: string
  /** ranks_program.ts */
  readonly ranks: string
  /** training_program.ts */
  readonly training: string
}

/** Results that training_program.ts prints. */
export interface Training {
  readonly losses: readonly number[]
  readonly kernel: readonly number[]
  readonly isOnDevice: boolean
}

/** Bundles the programs before the tests of a file, and removes them afterwards. */
export function usesRankPrograms(): RankPrograms {
  const programs = { folder: '', ranks: '', training: '' }
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'distributed-ranks-'))
    Object.assign(programs, {
      folder,
      ranks: join(folder, 'ranks_program.mjs'),
      training: join(folder, 'training_program.mjs'),
    })
    for (const [source, file] of [
      ['ranks_program.ts', programs.ranks],
      ['training_program.ts', programs.training],
    ] as const) {
      // The readers of tables are not used here.
      const external = ['apache-arrow', 'hyparquet', 'hyparquet-compressors']
      await bundleProgram(fileURLToPath(new URL(source, import.meta.url)), file, { external })
    }
  })
  afterAll(() => rm(programs.folder, { recursive: true }))
  return programs
}
