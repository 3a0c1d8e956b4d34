import { readFile } from 'node:fs/promises'
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
