import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { importWeights } from '../src/index.js'
import { fixtureBytes, fixturePath } from './fixture.js'

// Made by fixtures/interop/make_onnx.py: lstm.onnx with W and B in a file beside it.
const LOCATION = 'lstm_external.onnx.data'

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'interop-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A copy of the model in `folder` in which `text` replaces another text of the same length. */
async function changedModel(folder: string, from: string, text: string): Promise<string> {
  expect(text).toHaveLength(from.length)
  const model = Buffer.from(fixtureBytes('onnx/lstm_external.onnx')).toString('latin1').replaceAll(from, text)
  const path = join(folder, 'model.onnx')
  await writeFile(path, model, 'latin1')
  return path
}

describe('importWeights of an ONNX model with external data', () => {
  it('reads the tensors in the file beside it', async () => {
    const within = await importWeights(fixturePath('onnx/lstm.onnx'))
    const beside = await importWeights(fixturePath('onnx/lstm_external.onnx'))
    expect(beside.networks[0]!.canonical).toEqual(within.networks[0]!.canonical)
  })

  it('follows links where both files are links into one folder', async () => {
    const folder = await temporaryFolder()
    await mkdir(join(folder, 'blobs'))
    await mkdir(join(folder, 'snapshot'))
    for (const [file, blob] of [
      ['lstm_external.onnx', '4f2a'],
      [LOCATION, '91cc'],
    ] as const) {
      await copyFile(fixturePath(`onnx/${file}`), join(folder, 'blobs', blob))
      await symlink(join(folder, 'blobs', blob), join(folder, 'snapshot', file))
    }
    const { networks } = await importWeights(join(folder, 'snapshot', 'lstm_external.onnx'))
    expect(networks).toHaveLength(1)
  })

  it.each([
    '../outside_of_the_model',
    'a/../../../../etc/passwd',
    '/etc/././././././passwd',
    'C:\\Windows\\System32\\hal',
    '..\\outside_of_the_model',
  ])('refuses the location %s', async (location) => {
    const path = await changedModel(await temporaryFolder(), LOCATION, location.slice(0, 23).padEnd(23, '_'))
    await expect(importWeights(path)).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_CORRUPT',
      message: expect.stringContaining('must be in its own folder'),
    })
  })

  it('refuses a link that leads out of the folder', async () => {
    const outside = join(await temporaryFolder(), 'secret')
    await writeFile(outside, new Uint8Array(320))
    const folder = await temporaryFolder()
    await symlink(outside, join(folder, LOCATION))
    await copyFile(fixturePath('onnx/lstm_external.onnx'), join(folder, 'model.onnx'))
    await expect(importWeights(join(folder, 'model.onnx'))).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_CORRUPT',
      message: expect.stringContaining('must be in its own folder'),
    })
  })

  it('refuses a folder in place of the file', async () => {
    const folder = await temporaryFolder()
    await mkdir(join(folder, LOCATION))
    await copyFile(fixturePath('onnx/lstm_external.onnx'), join(folder, 'model.onnx'))
    await expect(importWeights(join(folder, 'model.onnx'))).rejects.toMatchObject({ code: 'ERR_WEIGHTS_CORRUPT' })
  })

  it('names the file that is missing', async () => {
    const folder = await temporaryFolder()
    await copyFile(fixturePath('onnx/lstm_external.onnx'), join(folder, 'model.onnx'))
    await expect(importWeights(join(folder, 'model.onnx'))).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_NOT_FOUND',
      message: expect.stringContaining(LOCATION),
    })
  })

  it('requires the path of a model that was given as bytes', async () => {
    await expect(importWeights(fixtureBytes('onnx/lstm_external.onnx'))).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_UNSUPPORTED',
      message: expect.stringContaining('Give its path'),
    })
  })

  it.each([
    ['192', '999'],
    ['192', '-19'],
    ['192', '188'],
  ])('refuses %s that became %s', async (from, to) => {
    const folder = await temporaryFolder()
    await copyFile(fixturePath(`onnx/${LOCATION}`), join(folder, LOCATION))
    await expect(importWeights(await changedModel(folder, from, to))).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_CORRUPT',
    })
  })
})
