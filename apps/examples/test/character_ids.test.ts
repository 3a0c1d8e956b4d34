import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readCharacterIds } from '../src/text/textgenrnn.js'

async function vocabulary(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'examples-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'vocabulary.json')
  await writeFile(path, text)
  return path
}

it('readCharacterIds reads ids by characters', async () => {
  expect(await readCharacterIds(await vocabulary('{"<s>": 1, "é": 2}'), 2)).toEqual(
    new Map([
      ['<s>', 1],
      ['é', 2],
    ]),
  )
})

it.each(['RIFF', '[1, 2]', 'null', '{"a": "1"}', '{"a": 0}', '{"a": 3}', '{"a": 1.5}'])(
  'readCharacterIds refuses %s',
  async (text) => {
    const path = await vocabulary(text)
    await expect(readCharacterIds(path, 2)).rejects.toMatchObject({ code: 'ERR_NOT_A_VOCABULARY', path })
  },
)
