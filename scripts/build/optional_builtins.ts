import { builtinModules, createRequire } from 'node:module'
import type { Plugin } from 'esbuild'

const BUILTIN = new RegExp(`^(?:node:)?(?:${builtinModules.filter((name) => !name.startsWith('_')).join('|')})$`)
const require = createRequire(import.meta.url)

/**
 * An esbuild plugin: the built-in modules of Node.js are taken from `process.getBuiltinModule`, not imported. One build then
 * runs in Node.js and in browsers, and every bundler can bundle it. If there is no such module, its functions throw an
 * Error with `code` `ERR_NODE_REQUIRED` when they are called.
 */
export function optionalBuiltins(): Plugin {
  return {
    name: 'optional-builtins',
    setup(build) {
      build.onResolve({ filter: BUILTIN }, ({ path }) => ({
        path: path.replace(/^node:/, ''),
        namespace: 'optional-builtin',
        sideEffects: false,
      }))
      build.onLoad({ filter: /.*/, namespace: 'optional-builtin' }, ({ path }) => ({ contents: moduleOf(path) }))
    },
  }
}

/** The same for tests that Vite serves to a browser from the sources. */
export function optionalBuiltinsInVite() {
  const prefix = '\0optional-builtin:'
  return {
    name: 'optional-builtins',
    enforce: 'pre' as const,
    resolveId: (path: string) => (BUILTIN.test(path) ? prefix + path.replace(/^node:/, '') : undefined),
    load: (id: string) => (id.startsWith(prefix) ? moduleOf(id.slice(prefix.length)) : undefined),
  }
}

/** The text of a module with the exports of the built-in module `name`; a bundler drops those that nothing imports. */
function moduleOf(name: string): string {
  const names = Object.keys(require(name)).filter((key) => /^[A-Za-z]\w*$/.test(key) && key !== 'default')
  return `
const builtin = /* @__PURE__ */ (() => globalThis.process?.getBuiltinModule?.('node:${name}'))()
const pick = (name) => builtin ? builtin[name] : function () {
  const message = 'Cannot call ' + name + ' of node:${name} as this needs Node.js: current platform has no such module'
  throw Object.assign(new Error(message), { code: 'ERR_NODE_REQUIRED' })
}
${names.map((key) => `const own_${key} = /* @__PURE__ */ pick('${key}')`).join('\n')}
export { ${names.map((key) => `own_${key} as ${key}`).join(', ')} }
export default builtin
`
}
