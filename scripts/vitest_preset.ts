import { fileURLToPath } from 'node:url'
import { defineProject } from 'vitest/config'

/** Tests read every workspace package from its sources: no build is needed before a test. */
export const sourceAliases = [
  {
    find: /^@cudnn-rnn\/((?!native-)[a-z-]+)$/,
    replacement: fileURLToPath(new URL('../packages/$1/src/index.ts', import.meta.url)),
  },
  {
    find: /^@cudnn-rnn\/((?!native-)[a-z-]+)\/([a-z-]+)$/,
    replacement: fileURLToPath(new URL('../packages/$1/src/$2.ts', import.meta.url)),
  },
]

/**
 * The vitest project of one workspace package.
 *
 * @param isolate Whether each file has a process of its own, which costs a third of a second for every file: for tests that measure
 *   the memory of the process, change its environment or load addons.
 */
export function packageProject(name: string, { isolate = false } = {}) {
  return defineProject({
    resolve: { alias: sourceAliases },
    test: {
      ...{ name, isolate, include: ['test/**/*.test.ts'], testTimeout: 60_000 },
      exclude: ['**/*.browser.test.ts', '**/node_modules/**'],
    },
  })
}
