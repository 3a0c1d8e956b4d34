// Needs the process of Node.js.
import { expect, it } from 'vitest'
import { loadNativeAddon } from '../src/index.js'

/** A `require` that finds an addon at the places that `pattern` matches. */
function requireOf(pattern: RegExp) {
  const require = (place: string) => {
    if (pattern.test(place)) return { place }
    throw new Error(`Cannot find module '${place}'\nRequire stack:\n- here`)
  }
  return () => Object.assign(require, { resolve: (place: string) => place })
}

const PLATFORM_PACKAGE = /^@cudnn-rnn\/native-cudnn-[a-z0-9-]+$/
const LOCAL_BUILD = /^\.\.\/\.\.\/\.\.\/native\/cudnn\/prebuilds\/[a-z0-9-]+\/cudnn_rnn_cudnn\.node$/

it.each([
  ['the file that the environment names', { CUDNN_RNN_CUDNN_ADDON: '/a/b.node' }, /./, /^\/a\/b\.node$/],
  ['the platform package before a local build', {}, /./, PLATFORM_PACKAGE],
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
  expect(loadNativeAddon('cudnn', requireOf(present), environment)).toEqual({ addon: { place: file }, file })
})

it('lists its attempts in order if it finds no addon', () => {
  expect(loadNativeAddon('cudnn', requireOf(/nothing/), {})).toEqual({
    addon: undefined,
    attempts: [
      expect.stringMatching(/^@cudnn-rnn\/native-cudnn-[a-z0-9-]+: Cannot find module '[^\n]+'$/),
      expect.stringMatching(/^\.\..*cudnn_rnn_cudnn\.node: Cannot find module '[^\n]+'$/),
    ],
  })
})

it('searches no other place if the environment names a file that is not an addon', () => {
  expect(loadNativeAddon('cpu', requireOf(/nothing/), { CUDNN_RNN_CPU_ADDON: '/nowhere/addon.node' })).toEqual({
    addon: undefined,
    attempts: [expect.stringMatching(/^\/nowhere\/addon\.node: /)],
  })
})
