import { fileURLToPath } from 'node:url'

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
