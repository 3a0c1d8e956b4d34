import { readFile } from 'node:fs/promises'
import { Command } from 'commander'
import { expect, it } from 'vitest'
import { addVoiceServerCommand } from '../../src/voice_server/voice_server_command.js'

const folder = new URL('../../voice_server/', import.meta.url)
const read = (name: string) => readFile(new URL(name, folder), 'utf8')

/** The options of `voice-server` that a command line names. */
function optionsOf(commandLine: readonly string[]): Record<string, string> {
  const [node, bin, name, ...rest] = commandLine
  expect([node, bin, name]).toEqual(['node', '/app/dist/bin.js', 'voice-server'])
  const program = new Command()
  addVoiceServerCommand(program)
  const known = program.commands[0].options.map(({ long }) => long)
  const given: Record<string, string> = {}
  for (let k = 0; k < rest.length; k += 2) {
    expect(known).toContain(rest[k])
    given[rest[k]] = rest[k + 1]
  }
  return given
}

it('the Dockerfile starts the server with options that it has', async () => {
  const command = /^CMD (.*)$/m.exec(await read('Dockerfile'))?.[1] ?? ''
  expect(optionsOf(JSON.parse(command))).toMatchObject({ '--host': '0.0.0.0' })
})

it('the manifest starts the server with options that it has, and lets it drain', async () => {
  const manifest = await read('kubernetes.yaml')
  const list = /args: \[(.*)\]/.exec(manifest)?.[1] ?? ''
  const given = optionsOf(list.split(',').map((word) => word.trim().replaceAll("'", '')))
  const number = (pattern: RegExp) => Number(pattern.exec(manifest)?.[1])
  const pause = number(/command: \[sleep, '(\d+)'\]/)
  const allowed = number(/terminationGracePeriodSeconds: (\d+)/)
  expect(allowed).toBeGreaterThan(pause + Number(given['--grace']))
})
