import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cycles } from '../checks/graph_cycles.mjs'
import { includeViolations } from '../checks/include_rules.mjs'
import { layerViolations } from '../checks/layer_rules.mjs'
import { importsOf } from '../workspace.mjs'

const LAYERS = {
  scope: '@x/',
  folders: { packages: { prefix: '' } },
  mayImport: { bottom: [], top: ['bottom'] },
  testsMayAlsoImport: {},
}

/** A workspace of two packages, changed by `files` (path to content, undefined to leave one out). */
function workspace(files = {}) {
  const root = mkdtempSync(join(tmpdir(), 'layers-'))
  const all = {
    'packages/bottom/package.json': '{}',
    'packages/bottom/tsconfig.json': '{}',
    'packages/bottom/src/index.ts': 'export const one = 1',
    'packages/top/package.json': '{ "dependencies": { "@x/bottom": "workspace:*" } }',
    'packages/top/tsconfig.json': '{ "references": [{ "path": "../bottom" }] }',
    'packages/top/src/index.ts': "import { one } from '@x/bottom'\nexport const two = one + 1",
    ...files,
  }
  for (const [path, content] of Object.entries(all)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return root
}

describe('layerViolations', () => {
  it('finds nothing in a workspace that keeps the rules', () => {
    expect(layerViolations(workspace(), LAYERS)).toEqual([])
  })

  it.each([
    [
      'an arrow that is not allowed',
      {
        'packages/bottom/package.json': '{ "dependencies": { "@x/top": "workspace:*" } }',
        'packages/bottom/tsconfig.json': '{ "references": [{ "path": "../top" }] }',
        'packages/bottom/src/index.ts': "import '@x/top'",
      },
      'bottom: package.json depends on top',
    ],
    [
      'an import that is not declared',
      { 'packages/bottom/src/index.ts': "export { two } from '@x/top'" },
      'which package.json does not declare',
    ],
    [
      'a dependency that nothing imports',
      { 'packages/top/src/index.ts': 'export const two = 2' },
      'declares bottom, which nothing imports',
    ],
    ['a missing project reference', { 'packages/top/tsconfig.json': '{}' }, 'tsconfig.json does not reference bottom'],
    [
      'a deep import',
      { 'packages/top/src/index.ts': "import '@x/bottom'\nimport '@x/bottom/src/index.js'" },
      'past the entry point of bottom',
    ],
    [
      'a relative import of another package',
      { 'packages/top/src/other.ts': "import '../../bottom/src/index.js'" },
      'a file of another package',
    ],
    [
      'a cycle of files',
      { 'packages/bottom/src/a.ts': "import './b.js'", 'packages/bottom/src/b.ts': "import type { A } from './a.js'" },
      'import cycle',
    ],
    [
      'an import of a .tsx file that is not declared',
      { 'packages/bottom/src/view.tsx': "import '@x/top'\nexport const view = <p />" },
      'packages/bottom/src/view.tsx: imports @x/top, which package.json does not declare',
    ],
    [
      'a cycle through .tsx files',
      { 'packages/bottom/src/a.tsx': "import './b.js'", 'packages/bottom/src/b.ts': "import './a.js'" },
      'import cycle',
    ],
    [
      'a runtime dependency of tests alone',
      {
        'packages/top/src/index.ts': 'export const two = 2',
        'packages/top/test/two.test.ts': "import '@x/bottom'",
      },
      'depends on bottom, which only its tests import',
    ],
    [
      'an undeclared import in a folder of any name',
      { 'packages/bottom/tools/one.mjs': "import '@x/top'" },
      'packages/bottom/tools/one.mjs: imports @x/top, which package.json does not declare',
    ],
    [
      'a published package that exports a file of its tests',
      { 'packages/bottom/package.json': '{ "exports": { "./fixtures": "./test/fixtures.mjs" } }' },
      'bottom: package.json exports ./test/fixtures.mjs',
    ],
    [
      'a published package that depends on a private one',
      { 'packages/bottom/package.json': '{ "private": true }' },
      'top: is published and depends on bottom, which is private',
    ],
    ['a drawer of files', { 'packages/bottom/src/utils/one.ts': '' }, 'name the concept'],
    ['a drawer', { 'packages/bottom/src/utils.ts': '' }, 'name the concept'],
    ['a file in camelCase', { 'packages/bottom/src/myFile.ts': '' }, 'snake_case'],
    [
      'a package that layers.json does not list',
      { 'packages/other/package.json': '{}' },
      'other: is not in layers.json',
    ],
  ])('finds %s', (_, files, expected) => {
    expect(layerViolations(workspace(files), LAYERS).join('\n')).toContain(expected)
  })

  it('lets a package depend on the platform packages of an addon that it may import', () => {
    const platforms = { optionalDependencies: { '@x/addon-linux-x64': 'workspace:*' } }
    const root = workspace({
      'packages/bottom/package.json': JSON.stringify(platforms),
      'packages/top/package.json': JSON.stringify({ dependencies: { '@x/bottom': 'workspace:*' }, ...platforms }),
    })
    const layers = { ...LAYERS, mayImport: { bottom: ['addon'], top: ['bottom'] } }
    expect(layerViolations(root, layers)).toEqual([
      'top: package.json depends on addon-linux-x64, which layers.json does not allow',
      'top: package.json depends on addon-linux-x64, which only its tests import',
    ])
  })

  it('finds an internal entry that is not published', () => {
    const root = workspace({
      'packages/bottom/package.json': '{ "exports": { "./rules": "./dist/rules.js" } }',
      'packages/top/package.json':
        '{ "private": true, "dependencies": { "@x/bottom": "workspace:*" }, "exports": { "./rules": "./src/rules.ts" } }',
    })
    expect(layerViolations(root, { ...LAYERS, internal: ['bottom/rules', 'top/rules', 'bottom/none'] })).toEqual([
      'layers.json: top/rules is internal, which no published package exports',
      'layers.json: bottom/none is internal, which no published package exports',
    ])
  })

  describe('in parts of a package', () => {
    const layers = { ...LAYERS, mayImport: { 'bottom/part': [], bottom: ['bottom/part'], top: ['bottom/part'] } }
    const parts = {
      'packages/bottom/package.json': '{ "exports": { ".": "./dist/index.js", "./part": "./dist/part.js" } }',
      'packages/bottom/src/part/index.ts': "export * from './one.js'",
      'packages/bottom/src/part/one.ts': '',
      'packages/bottom/src/index.ts': "import '@x/bottom/part'",
      'packages/bottom/test/part/one.test.ts': "import '../../src/part/one.js'",
      'packages/top/src/index.ts': "import '@x/bottom/part'",
    }

    it('finds nothing where each imports by its row', () => {
      expect(layerViolations(workspace(parts), layers)).toEqual([])
    })

    it.each([
      ['an import of the root', { 'packages/bottom/src/part/one.ts': "import '@x/bottom'" }, 'allow to bottom/part'],
      ['a package above', { 'packages/top/src/index.ts': "import '@x/bottom'" }, 'allow to top'],
      ['a relative import', { 'packages/bottom/src/two.ts': "import './part/one.js'" }, 'another part of bottom'],
    ])('finds %s', (_, files, expected) => {
      expect(layerViolations(workspace({ ...parts, ...files }), layers)).toEqual([expect.stringContaining(expected)])
    })
  })

  it('distinguishes native/top from packages/top', () => {
    const root = workspace({
      'packages/top/package.json': '{ "dependencies": { "@x/native-top": "workspace:*" } }',
      'packages/top/tsconfig.json': '{ "references": [{ "path": "../../native/top" }] }',
      'native/top/tsconfig.json': '{}',
      'packages/top/src/index.ts': "import '@x/native-top'",
      'native/top/package.json': '{}',
    })
    const layers = {
      ...LAYERS,
      folders: { ...LAYERS.folders, native: { prefix: 'native-' } },
      mayImport: { bottom: [], top: ['native-top'], 'native-top': [] },
    }
    expect(layerViolations(root, layers)).toEqual([])
  })

  it('finds a cycle of layers', () => {
    expect(
      cycles(
        new Map([
          ['a', ['b']],
          ['b', ['c']],
          ['c', ['a']],
        ]),
      ),
    ).toEqual([['a', 'b', 'c', 'a']])
  })
})

describe('importsOf', () => {
  it('sees every kind of import and nothing in comments', () => {
    const source = `
      import a from 'a'
      import { b,
        c } from "b"
      import type { D } from 'd'
      import 'e'
      export { f } from 'f'
      const g = await import('g')
      // import h from 'h'
      /* import i from 'i' */
      export const text = "from 'j'"
    `
    expect(importsOf(source)).toEqual(['a', 'b', 'd', 'e', 'f', 'g'])
  })
})

describe('includeViolations', () => {
  it('finds cycles and Node-API in a folder of one layer', () => {
    const root = workspace({
      'native/flat/a.h': '#include "b.h"\n#include <napi.h>',
      'native/flat/b.h': '#include "a.h"',
    })
    expect(includeViolations(root, { 'native/flat': [] })).toEqual([
      expect.stringContaining('native/flat/a.h: includes napi.h'),
      expect.stringContaining('native/flat: include cycle'),
    ])
  })

  const order = { 'native/src': ['kernels', 'passes'] }
  const below = {
    'native/src/kernels/product.h': '#include <stddef.h>',
    'native/src/passes/forward.cc': '#include "kernels/product.h"',
  }

  it('finds nothing where includes go down', () => {
    expect(includeViolations(workspace(below), order)).toEqual([])
  })

  it.each([
    ['an include of a layer above', { 'native/src/kernels/product.h': '#include "passes/tape.h"' }, 'of a layer above'],
    ['a file outside the layers', { 'native/src/odd.h': '' }, 'is in none of the folders'],
    ['an addon that is not listed', { 'native/other/src/one.cu': '' }, 'is in no source folder of includeOrder'],
    ['Node-API outside of its setup', { 'native/src/kernels/product.h': '#include <napi.h>' }, 'includes napi.h'],
    ['a cycle', { 'native/src/passes/tape.h': '#include "passes/tape.h"' }, 'include cycle'],
  ])('finds %s', (_, files, expected) => {
    const found = includeViolations(workspace({ ...below, 'native/src/passes/tape.h': '', ...files }), order)
    expect(found).toEqual([expect.stringContaining(expected)])
  })
})
