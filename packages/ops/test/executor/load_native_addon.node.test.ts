// Needs the process of Node.js.
import { expect, it, vi } from 'vitest'
import { loadNativeAddon } from '../../src/executor/index.js'

interface Report {
  getReport(): object
  excludeNetwork: boolean
}
interface NodeProcess {
  argv: string[]
  platform: string
  report: Report
  getBuiltinModule(name: string): unknown
}
const { process } = globalThis as unknown as { process: NodeProcess }
const PROGRAM = process.argv[1]
const PACKAGE = 'file:///app/node_modules/@cudnn-rnn/cudnn/dist/index.js'

/** A `createRequire` that finds an addon at the places that `pattern` matches; from `base`, if one is named. */
function requireOf(pattern: RegExp, base?: string) {
  return (from: string) => {
    const require = (place: string) => {
      if (pattern.test(place) && (base === undefined || from === base)) return { place }
      throw Object.assign(new Error(`Cannot find module '${place}'\nRequire stack:\n- here`), {
        code: 'MODULE_NOT_FOUND',
      })
    }
    return Object.assign(require, { resolve: (place: string) => place })
  }
}

const PLATFORM_PACKAGE = /^@cudnn-rnn\/native-cudnn-[a-z0-9-]+$/
const BESIDE_BUNDLE = /^\.\/cudnn_rnn_cudnn\.node$/
const LOCAL_BUILD = /^\.\.\/\.\.\/\.\.\/native\/cudnn\/prebuilds\/[a-z0-9-]+\/cudnn_rnn_cudnn\.node$/

it.runIf(process.platform === 'linux')('asks no DNS for the names of open sockets', async () => {
  const { report } = process
  const before = report.excludeNetwork
  const excluded: boolean[] = []
  vi.spyOn(report, 'getReport').mockImplementation(() => {
    excluded.push(report.excludeNetwork)
    return {}
  })
  // Another instance of the module: it keeps the platform.
  vi.resetModules()
  const loader = await import('../../src/executor/load_native_addon.js')
  loader.loadNativeAddon('cpu', PACKAGE, {}, requireOf(/nothing/))
  vi.restoreAllMocks()
  vi.resetModules()
  expect(excluded).toEqual([true])
  expect(report.excludeNetwork).toBe(before)
})

it.each([
  ['the file that the environment names', { CUDNN_RNN_CUDNN_ADDON: '/a/b.node' }, /./, /^\/a\/b\.node$/],
  ['the platform package before a local build', {}, /./, PLATFORM_PACKAGE],
  ['the file beside a bundle before a local build', {}, /^\.+\//, BESIDE_BUNDLE],
  ['a local build without a platform package', {}, LOCAL_BUILD, LOCAL_BUILD],
  ['the platform package if the variable is empty', { CUDNN_RNN_CUDNN_ADDON: '' }, /./, PLATFORM_PACKAGE],
  [
    'the platform package if the variable is that of another addon',
    { CUDNN_RNN_CPU_ADDON: '/a' },
    /./,
    PLATFORM_PACKAGE,
  ],
] as const)('loads %s', (_, environment, present, expected) => {
  const file = expect.stringMatching(expected)
  expect(loadNativeAddon('cudnn', PACKAGE, environment, requireOf(present))).toEqual({ addon: { place: file }, file })
})

it.each([undefined, 'file:///where/it/was/bundled.js'])(
  'finds it beside the program of a bundle with the URL %s',
  (url) => {
    const require = requireOf(BESIDE_BUNDLE, PROGRAM)
    expect(loadNativeAddon('cudnn', url, {}, require)).toMatchObject({ file: './cudnn_rnn_cudnn.node' })
  },
)

it.each([
  [new URL('../../../cudnn/src/load_addon.ts', import.meta.url).href, 'its addon is not installed'],
  // webpack writes the address that the package had when the bundle was made.
  [PACKAGE, 'not in this bundle: mark @cudnn-rnn/* as external'],
  ['file:///var/task/index.mjs', 'not in this bundle: mark @cudnn-rnn/* as external'],
  [undefined, 'not in this bundle: mark @cudnn-rnn/* as external'],
])('names the remedy if there is none: %s', (url, reason) => {
  expect(loadNativeAddon('cudnn', url, {}, requireOf(/nothing/))).toMatchObject({
    addon: undefined,
    attempts: [reason],
  })
})

it('states why one that exists cannot be loaded, once', () => {
  const require = () =>
    Object.assign(
      () => {
        throw new Error('wrong ELF class\nmore')
      },
      { resolve: String },
    )
  const { attempts } = loadNativeAddon('cpu', PACKAGE, {}, require) as { attempts: readonly string[] }
  expect(attempts).toContain('./cudnn_rnn_cpu.node: wrong ELF class')
  expect(new Set(attempts).size).toBe(attempts.length)
})

it('looks once for an addon that it finds, and again for another one', () => {
  const createRequire = vi.fn(requireOf(LOCAL_BUILD))
  vi.spyOn(process, 'getBuiltinModule').mockImplementation(() => ({ createRequire }))
  const load = (file?: string) => loadNativeAddon('cudnn', PACKAGE, { CUDNN_RNN_CUDNN_ADDON: file })
  const first = load()
  expect(createRequire).toHaveBeenCalledTimes(3)
  expect(load()).toBe(first)
  expect(createRequire).toHaveBeenCalledTimes(3)
  const lacking = load('/nowhere.node')
  expect(lacking).toHaveProperty('attempts')
  expect(load('/nowhere.node')).toEqual(lacking)
  expect(createRequire.mock.calls.length).toBeGreaterThan(4)
  vi.restoreAllMocks()
})

it('never throws, also without an address that modules can be looked up from', () => {
  expect(loadNativeAddon('cpu', 'blob:x', { CUDNN_RNN_CPU_ADDON: '' })).toHaveProperty('addon')
})

it('searches no other place if the environment names a file that is not an addon', () => {
  const environment = { CUDNN_RNN_CPU_ADDON: '/nowhere/addon.node' }
  expect(loadNativeAddon('cpu', PACKAGE, environment, requireOf(/nothing/))).toMatchObject({
    addon: undefined,
    attempts: [expect.stringMatching(/^\/nowhere\/addon\.node: /)],
  })
})
