import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../src/program.js'

/** The exit code and the text of a command line that ends before it runs: help, or the reason of a refusal. */
async function printed(...args: string[]): Promise<{ readonly exitCode: number; readonly text: string }> {
  const texts: string[] = []
  const override = (command: Command) => {
    command
      .exitOverride()
      .configureOutput({ writeErr: (text) => texts.push(text), writeOut: (text) => texts.push(text) })
    command.commands.forEach(override)
  }
  const program = createProgram()
  override(program)
  const exitCode = await program.parseAsync(args, { from: 'user' }).then(
    () => -1,
    (error: { readonly exitCode: number }) => error.exitCode,
  )
  return { exitCode, text: texts.join('') }
}

describe('examples', () => {
  it.each(createProgram().commands.map((command) => command.name()))('has help for %s', async (name) => {
    const { exitCode, text } = await printed(name, '--help')
    expect(exitCode).toBe(0)
    expect(text).toContain(`Usage: examples ${name}`)
    expect(text).not.toMatch(/undefined|\[object/)
  })

  it.each(['denoise', 'speech', 'text', 'voice-server', 'voice-load'])(
    '%s names the file that it lacks',
    async (name) => {
      const { exitCode, text } = await printed(name)
      expect(exitCode).toBe(1)
      expect(text).toMatch(/required option '--[a-z-]+ <\S+>' not specified|missing required argument/)
    },
  )

  it.each([
    ['handwriting --no-such-option', "unknown option '--no-such-option'"],
    ['handwriting --steps many', 'It must be an integer >='],
  ])('refuses %s', async (line, message) => {
    expect(await printed(...line.split(' '))).toEqual({ exitCode: 1, text: expect.stringContaining(message) })
  })

  it('proposes the command that a wrong name is near to', async () => {
    expect(await printed('speach')).toEqual({ exitCode: 1, text: expect.stringContaining('Did you mean speech?') })
  })
})
