import { expect, it } from 'vitest'
import { loadAddon } from '../src/load_addon.js'

/** A `require` that finds an addon at the places that `pattern` matches. */
function requireOf(pattern: RegExp) {
  const require = (place: string) => {
    if (pattern.test(place)) return { place }
    throw new Error(`Cannot find module '${place}'\nRequire stack:\n- here`)
  }
  return Object.assign(require, { resolve: Object.assign((place: string) => place, { paths: () => null }) })
}

const PLATFORM_PACKAGE = /^@cudnn-rnn\/native-cudnn-/
const LOCAL_BUILD = /\/native\/cudnn\/prebuilds\/[a-z0-9-]+\/cudnn_rnn_cudnn\.node$/

it.each([
  ['the file that the environment names first', { CUDNN_RNN_CUDNN_ADDON: '/a/b.node' }, /./, /^\/a\/b\.node$/],
  ['the platform package before a local build', {}, /./, PLATFORM_PACKAGE],
  ['a local build where there is no platform package', {}, LOCAL_BUILD, LOCAL_BUILD],
] as const)('loadAddon takes %s', (_, environment, present, expected) => {
  const file = expect.stringMatching(expected)
  expect(loadAddon(environment, requireOf(present))).toEqual({ addon: { place: file }, file })
})

it('loadAddon lists its attempts, in order, if there is no addon', () => {
  expect(loadAddon({}, requireOf(/nothing/))).toEqual({
    addon: undefined,
    attempts: [
      expect.stringMatching(/^@cudnn-rnn\/native-cudnn-[a-z0-9-]+: Cannot find module/),
      expect.stringMatching(/prebuilds.*cudnn_rnn_cudnn\.node: Cannot find module/),
    ],
  })
})
