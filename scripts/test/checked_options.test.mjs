// Options are read from what `checkOptions` returns: a getter of the caller may give another value at the next read.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { filesBelow } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The functions, with the place of the options among their arguments. */
const CHECKS = { checkOptions: 1, checkCellOptions: 2, checkLayerOptions: 1 }

/** Lines of a source that read an object after a check of it in the same function. */
function readsAgain(text) {
  if (!Object.keys(CHECKS).some((name) => text.includes(name))) return []
  const source = ts.createSourceFile('', text, ts.ScriptTarget.Latest, true)
  const lines = []
  const visit = (node) => {
    const object = ts.isCallExpression(node) ? node.arguments[CHECKS[node.expression.getText()]] : undefined
    if (object !== undefined && ts.isIdentifier(object)) {
      for (const read of readsOf(functionOf(node), object.text)) {
        if (read.getStart() > node.end) lines.push(source.getLineAndCharacterOfPosition(read.getStart()).line + 1)
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return lines
}

function functionOf(node) {
  return ts.isFunctionLike(node) || ts.isSourceFile(node) ? node : functionOf(node.parent)
}

function readsOf(node, name, found = []) {
  const isName = ts.isPropertyAccessExpression(node.parent) && node.parent.name === node
  if (ts.isIdentifier(node) && node.text === name && !isName && !isDeclared(node) && !ts.isTypeQueryNode(node.parent)) {
    found.push(node)
  }
  ts.forEachChild(node, (child) => {
    readsOf(child, name, found)
  })
  return found
}

/** Names of fields and of variables that are declared. */
const isDeclared = ({ parent, ...node }) =>
  (ts.isPropertyAssignment(parent) || ts.isBindingElement(parent) || ts.isParameter(parent)) &&
  parent.initializer?.pos !== node.pos

it.each([
  ['a field', 'function f(o) { const { a } = checkOptions("x", o, R); return a + o.b }', [1]],
  ['all fields', 'function f(o) {\ncheckOptions("x", o, R)\nreturn g(o) }', [3]],
  ['the result of the check', 'function f(o) { const g = checkOptions("x", o, R); return g.o }', []],
  ['the object before its check', 'function f(o) { if (h(o)) return; return checkOptions("x", o, R) }', []],
])('reads again: %s', (_, text, lines) => expect(readsAgain(text)).toEqual(lines))

it('no source file reads options again that it has checked', () => {
  const sources = ['packages', 'apps']
    .flatMap((folder) => filesBelow(root, join(root, folder), /\.ts$/))
    .filter((file) => file.includes('/src/') && !/^packages\/(conformance|differential)\//.test(file))
  expect(sources.length).toBeGreaterThan(100)
  const found = sources.flatMap((file) =>
    readsAgain(readFileSync(join(root, file), 'utf8')).map((line) => `${file}:${line}`),
  )
  expect(found).toEqual([])
})
