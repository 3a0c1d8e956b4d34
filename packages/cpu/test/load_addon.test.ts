import { expect, it } from 'vitest'
import { loadAddon } from '../src/load_addon.js'

/** A `require` that finds an addon at the places that `pattern` matches, and records the requests. */
function requireOf(pattern: RegExp) {
  const asked: string[] = []
  const require = (place: string) => {
    asked.push(place)
    if (pattern.test(place)) return { place }
    throw new Error(`Cannot find module '${place}'\nRequire stack:\n- here`)
  }
  return { require, asked }
}

const PLATFORM_PACKAGE = /^@cudnn-rnn\/native-cpu-/
const LOCAL_BUILD = /\/native\/cpu\/prebuilds\/[a-z0-9-]+\/cudnn_rnn_cpu\.node$/

it.each([
  ['takes the file that the environment names before all others', { CUDNN_RNN_CPU_ADDON: '/a/b.node' }, /./, /^\/a\/b/],
  ['takes the platform package before a local build', {}, /./, PLATFORM_PACKAGE],
  ['takes a local build where there is no platform package', {}, LOCAL_BUILD, LOCAL_BUILD],
  ['passes over an empty name', { CUDNN_RNN_CPU_ADDON: '' }, /./, PLATFORM_PACKAGE],
] as const)('loadAddon %s', (_, environment, present, expected) => {
  const { require } = requireOf(present)
  expect(loadAddon(environment, require).addon).toEqual({ place: expect.stringMatching(expected) })
})

it('loadAddon lists the places it searched, in order, if there is no addon', () => {
  const { require, asked } = requireOf(/nothing/)
  const { addon, attempts } = loadAddon({}, require)
  expect(addon).toBeUndefined()
  expect(asked).toEqual([expect.stringMatching(PLATFORM_PACKAGE), expect.stringMatching(LOCAL_BUILD)])
  expect(attempts).toEqual(asked.map((place) => ({ name: 'cpu', reason: `${place}: Cannot find module '${place}'` })))
})

it('loadAddon searches no other place if the environment names a file that is not an addon', () => {
  const { addon, attempts } = loadAddon({ CUDNN_RNN_CPU_ADDON: '/nowhere/addon.node' })
  expect(addon).toBeUndefined()
  expect(attempts).toEqual([{ name: 'cpu', reason: expect.stringContaining('/nowhere/addon.node') }])
})
