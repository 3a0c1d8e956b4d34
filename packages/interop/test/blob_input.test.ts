import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
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
  const entries = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile())
  const files = await Promise.all(entries.map(async ({ name }) => new File([await readFile(join(folder, name))], name)))
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

describe('a Response of fetch', () => {
  /** Makes Responses as fetch does: a Response that is made by its constructor has no address. */
  const fetched = (url: string, body: BodyInit, status = 200) =>
    Object.defineProperty(new Response(body, { status }), 'url', { value: url })

  it('is read as the path of the same file', async () => {
    const path = fixturePath('pytorch/tagger_half.pt')
    const expected = await importWeights(path)
    const bytes = await readFile(path)
    expect(await importWeights(new Response(bytes))).toEqual(expected)
    expect(await importWeights([fetched('https://models.example/tagger.pt?download=true', bytes)])).toEqual(expected)
  })

  it('serves as a file of a TensorFlow checkpoint, by the end of its address', async () => {
    const index = await findIndex(fixturePath('tensorflow'))
    const prefix = index.slice(0, -'.index'.length)
    const names = (await readdir(dirname(index))).filter((name) => join(dirname(index), name).startsWith(`${prefix}.`))
    const responses = names.map(async (name) =>
      fetched(`https://models.example/runs/${name}?v=1`, await readFile(join(dirname(index), name))),
    )
    expect(await importWeights(await Promise.all(responses))).toEqual(await importWeights(prefix))
  })

  it.each([
    [404, 'ERR_WEIGHTS_NOT_FOUND'],
    [403, 'ERR_WEIGHTS_IO'],
    [503, 'ERR_WEIGHTS_IO'],
  ])('of status %d is refused with its address and %s', async (status, code) => {
    const path = 'https://models.example/tagger.pt'
    await expect(importWeights(fetched(path, 'a page', status))).rejects.toMatchObject({ code, path })
  })

  it('whose body was read is refused with the cause', async () => {
    const response = new Response('text')
    await response.text()
    await expect(importWeights(response)).rejects.toMatchObject({ code: 'ERR_WEIGHTS_IO', cause: expect.anything() })
  })

  it('is refused in a list with holes, and if it is none', async () => {
    const list = new Array(2)
    list[1] = fetched('https://models.example/model.index', 'text')
    for (const input of [list, new Array(3), { blob() {}, arrayBuffer() {} }]) {
      await expect(importWeights(input as never)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' })
    }
  })
})
