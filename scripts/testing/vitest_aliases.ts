import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../..', import.meta.url)
const { compilerOptions } = JSON.parse(readFileSync(new URL('tsconfig.base.json', root), 'utf8')) as {
  readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly [string]>> }
}

/** Tests read every workspace package from its sources, at the paths of the compiler: no build is needed before a test. */
export const sourceAliases = Object.entries(compilerOptions.paths).map(([name, [path]]) => ({
  find: new RegExp(`^${name.replace('*', '((?!native-)[a-z-]+)')}$`),
  replacement: fileURLToPath(new URL(path, root)).replace('*', '$1'),
}))
