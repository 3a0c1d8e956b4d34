import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createProgram } from '../src/program.js'
import { spacePage } from '../src/space_page.js'
import { sampleReport } from './sample_report.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bench-program-'))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
})

/** The text of the error of a command line that is refused before it runs. */
async function refusal(...args: string[]): Promise<string> {
  const texts: string[] = []
  const override = (command: Command) => {
    command.exitOverride().configureOutput({ writeErr: (text) => texts.push(text), writeOut: () => {} })
    command.commands.forEach(override)
  }
  const program = createProgram()
  override(program)
  await expect(program.parseAsync(args, { from: 'user' })).rejects.toMatchObject({ exitCode: 1 })
  return texts.join('')
}

describe('bench', () => {
  it.each([
    ['--seed -4', 'It must be a number above 0.'],
    ['--seed Infinity', 'It must be a number above 0.'],
    ['--drawn 0.5', 'It must be a whole number.'],
    ['--drawn two', 'It must be a number above 0.'],
    ['--only (', 'Invalid regular expression'],
    ['--instruction-set sse2', 'Allowed choices are'],
    ['--executors cpu', 'Did you mean --executor?'],
    ['compare before', "missing required argument 'after'"],
    ['compare before after --rounds 0', 'It must be a number above 0.'],
    ['compare before after --threads 0', 'It must be a number above 0.'],
    ['page', "missing required argument 'json'"],
  ])('refuses %s', async (line, message) => {
    expect(await refusal(...line.split(' '))).toContain(message)
  })
})

describe('bench page', () => {
  function written(name: string): string {
    const path = join(folder, name)
    writeFileSync(path, JSON.stringify(sampleReport))
    return path
  }

  it('prints the networks of results side by side', async () => {
    const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    await createProgram().parseAsync(['page', written('a.json'), written('b.json')], { from: 'user' })
    expect(print.mock.calls.map(([text]) => text).join('')).toBe(spacePage([sampleReport, sampleReport]))
  })

  it('writes them to a file', async () => {
    const page = join(folder, 'space.md')
    await createProgram().parseAsync(['page', written('a.json'), '--write', page], { from: 'user' })
    expect(readFileSync(page, 'utf8')).toBe(spacePage([sampleReport]))
  })
})
