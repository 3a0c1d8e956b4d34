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

/** The vitest project of one workspace package. */
export function packageProject(name: string) {
  return defineProject({
    resolve: { alias: sourceAliases },
    test: {
      ...{ name, include: ['test/**/*.test.ts'], testTimeout: 60_000 },
      exclude: ['**/*.browser.test.ts', '**/node_modules/**'],
    },
  })
}
