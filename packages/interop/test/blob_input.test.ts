import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { blobSource, importWeights } from '../src/index.js'
import { fixturePath } from './fixture.js'

it('importWeights reads a Blob as it reads the path of the same file, and calls a File by its name', async () => {
  const path = fixturePath('pytorch/tagger_half.pt')
  const bytes = await readFile(path)
  const expected = await importWeights(path)
  for (const input of [new Blob([bytes]), new File([bytes], 'tagger.pt'), blobSource('tagger.pt', new Blob([bytes]))]) {
    expect(await importWeights(input)).toEqual(expected)
  }
  await expect(importWeights(new File([bytes.subarray(0, 100)], 'tagger.pt'))).rejects.toThrow(/: tagger\.pt$/)
})

it('importWeights reads the Files of a TensorFlow checkpoint as it reads the path, and one File in a list as the File', async () => {
  const index = await findIndex(fixturePath('tensorflow'))
  const folder = dirname(index)
  const files = await Promise.all(
    (await readdir(folder)).map(async (name) => new File([await readFile(join(folder, name))], name)),
  )
  const prefix = index.slice(0, -'.index'.length)
  const name = prefix.slice(folder.length + 1)
  const ofCheckpoint = files.filter((file) => file.name.startsWith(`${name}.`))
  expect(await importWeights(ofCheckpoint)).toEqual(await importWeights(prefix))

  const torch = fixturePath('pytorch/tagger_half.pt')
  expect(await importWeights([new File([await readFile(torch)], 'tagger.pt')])).toEqual(await importWeights(torch))
  const withoutIndex = ofCheckpoint.filter((file) => !file.name.endsWith('.index'))
  for (const files of [[], [...ofCheckpoint, new File([], 'other.index')], [...withoutIndex, ...withoutIndex]]) {
    await expect(importWeights(files)).rejects.toMatchObject({ code: 'ERR_WEIGHTS_NOT_FOUND' })
  }
  await expect(importWeights([{}] as never)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' })
})

async function findIndex(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true })
  return join(folder, names.filter((name) => name.endsWith('.index')).sort()[0]!)
}
