import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { latestCheckpoint, openModel } from '@cudnn-rnn/rnn'
import { describe, expect, it } from 'vitest'
import { run } from './program_run.js'
import { SMALL_FORECAST, SMALL_TEXT, temporaryDirectory } from './small_run.js'

const long = (folder: string) => join(folder, ...Array.from({ length: 5 }, () => 'x'.repeat(60)))
/** The folder over the network, if this machine shares its drives with the user. */
const share = (folder: string) => `//127.0.0.1/${folder[0]}$/${folder.slice(3).replaceAll('\\', '/')}`

type Form = readonly [string, (folder: string) => string]

const ANYWHERE: readonly Form[] = [
  ['relative to the working directory', (folder) => relative('', folder)],
  ['of over 260 characters', long],
]
const ON_WINDOWS: readonly Form[] = [
  ['with slashes', (folder) => folder.replaceAll('\\', '/')],
  ['of a drive in lower case', (folder) => folder.replace(/^./, (drive) => drive.toLowerCase())],
  [
    'relative to the directory of its drive',
    (folder) => `${folder.slice(0, 2)}${relative(resolve(folder.slice(0, 2)), folder)}`,
  ],
  ['of a device', (folder) => `\\\\?\\${folder}`],
  ['of a share', (folder) => share(folder).replaceAll('/', '\\')],
  ['of a share with slashes', share],
  ['of a long share', (folder) => long(share(folder))],
]
/** Forms of the path of a folder, of which any may be given. */
const FORMS = process.platform === 'win32' ? [...ANYWHERE, ...ON_WINDOWS] : ANYWHERE

describe.each(FORMS)('a folder given by a path %s', (name, form) => {
  it('is trained in, resumed, read and written', async ({ skip }) => {
    const folder = await temporaryDirectory()
    skip(name.includes('share') && !existsSync(share(folder)), 'drives are not shared here')
    const given = form(folder)
    await mkdir(given, { recursive: true })
    // Lines as Windows ends them.
    await writeFile(join(given, 'text.txt'), SMALL_TEXT.replaceAll('\n', '\r\n'))
    const rows = Array.from({ length: 80 }, (_, t) => `${t},${t % 6}`)
    await writeFile(join(given, 'series.csv'), ['t,value', ...rows].join('\r\n'))
    const [out, model] = [`${given}/run`, `${given}/model.keras`]
    const sizes = '--units 6 --embedding 4 --batch 3 --time 6 --steps 8'.split(' ')
    for (const args of [
      ['train', '--text', `${given}/text.txt`, '--out', out, ...sizes],
      ['train', '--resume', '--out', out, '--steps', '12'],
      ['forecast', '--csv', `${given}/series.csv`, '--out', `${given}/forecast`, ...SMALL_FORECAST, '--steps', '4'],
      ['inspect', out],
      ['export', out, '--format', 'keras', '--out', model],
      ['import', model],
    ]) {
      const { exitCode, stderr } = await run(...args)
      expect([args[0], exitCode, stderr]).toEqual([args[0], 0, ''])
    }
    expect(await latestCheckpoint(out)).toContain('model-12')
    expect((await readdir(folder, { recursive: true })).filter((file) => /\.tmp|\.lock/.test(file))).toEqual([])
    // Node.js 20 makes no address of a device's path.
    const addresses = given.startsWith('\\\\?\\') ? [] : [pathToFileURL(resolve(model))]
    for (const file of [model, ...addresses]) (await openModel(file)).dispose()
  })
})
