// The callables of the published packages, as their declaration files say.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { publicExports, publicPackages, readJson } from '../../workspace.mjs'
import { OUR_CALLBACKS } from './scope.mjs'
import { TypeShapes } from './type_shapes.mjs'

/** Every entry point of every public package: its name without the scope, its declarations and its module. */
export function entryPoints(root) {
  const layers = readJson(join(root, 'scripts/layers.json'))
  return publicPackages(root, layers)
    .flatMap((each) =>
      publicExports(each, layers)
        .filter(([, target]) => typeof target === 'object')
        .map(([entry, target]) => ({
          name: `${each.name}${entry.slice(1)}`,
          types: join(each.folder, target.import.types),
          module: join(each.folder, target.import.default),
        })),
    )
    .sort((a, b) => Number(isFacade(a)) - Number(isFacade(b)))
}

/** The names of `rnn/report` are in no other package. */
const isFacade = ({ name }) => /^rnn(\/(?!report$)|$)/.test(name)

/**
 * The facade's names must come from other packages, which are walked there: reports the others.
 *
 * @param own names that the facade itself defines.
 */
export async function checkFacade(entries, own) {
  const modules = await importedModules(entries)
  const elsewhere = new Set(modules.flatMap(([entry, module]) => (isFacade(entry) ? [] : Object.values(module))))
  return modules
    .filter(([entry]) => isFacade(entry))
    .flatMap(([{ name: entry }, module]) =>
      Object.entries(module)
        .filter(([name, value]) => typeof value === 'function' && !elsewhere.has(value) && !own.has(name))
        .map(([name]) => `${entry}: ${name} is walked nowhere`),
    )
}

function importedModules(entries) {
  return Promise.all(entries.map(async (entry) => [entry, await import(pathToFileURL(entry.module).href)]))
}

/**
 * The callables: functions, constructors, static methods, and the methods of every class and interface that an entry
 * point exports, each once, with the shapes of their parameters. Everything is plain data.
 *
 * @param subjects names of the types that have their own values.
 */
export async function publicApi(entries, subjects) {
  const missing = entries.filter(({ types }) => !existsSync(types))
  if (missing.length > 0) throw new Error(`Cannot walk as ${missing.map(({ name }) => name).join(', ')} is not built`)
  const program = ts.createProgram(
    entries.map(({ types }) => types),
    {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      strict: true,
      skipLibCheck: true,
      lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts'],
      types: [],
      noEmit: true,
    },
  )
  const checker = program.getTypeChecker()
  const shapes = new TypeShapes(checker, subjects)
  const modules = new Map(await importedModules(entries))
  const callables = []
  const seen = new Set()
  const add = (signature, { kind, entry, owner, name }) => {
    const declaration = signature.getDeclaration()
    const key = `${kind} ${owner ?? ''} ${name} ${declaration?.getSourceFile().fileName}:${declaration?.pos}`
    if (seen.has(key)) return
    seen.add(key)
    const label = `${entry}: ${kind === 'constructor' ? 'new ' : ''}${owner === undefined ? '' : `${owner}.`}${name}`
    const parameters = signature.getParameters().map((parameter) => {
      const isRest = Boolean(parameter.valueDeclaration?.dotDotDotToken)
      return { name: parameter.name, type: shapes.of(checker.getTypeOfSymbol(parameter)), isRest }
    })
    callables.push({ kind, entry, owner, name, label, parameters })
  }
  for (const entry of entries) {
    const moduleSymbol = checker.getSymbolAtLocation(program.getSourceFile(entry.types))
    for (const exported of checker.getExportsOfModule(moduleSymbol)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const at = { entry: entry.name, name: exported.name }
      // Bundled declarations do not say that a class is exported as a type alone.
      const isValue = symbol.flags & ts.SymbolFlags.Value && Object.hasOwn(modules.get(entry), exported.name)
      if (isValue) addValue(symbol, at)
      if (symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface)) addMethods(symbol, at)
    }
  }
  return { callables, shapes: shapes.table }

  function addValue(symbol, { entry, name }) {
    const type = checker.getTypeOfSymbol(symbol)
    const [call] = type.getCallSignatures()
    if (call !== undefined) add(call, { kind: 'function', entry, name })
    const [construct] = type.getConstructSignatures()
    if (construct === undefined || !(symbol.flags & ts.SymbolFlags.Class)) return
    const abstract = ts.getCombinedModifierFlags(symbol.valueDeclaration) & ts.ModifierFlags.Abstract
    const declared = construct.getDeclaration()
    const hidden = declared && ts.getCombinedModifierFlags(declared) & NOT_PUBLIC
    if (!abstract && !hidden) add(construct, { kind: 'constructor', entry, name })
    for (const member of type.getProperties()) {
      const [method] = checker.getTypeOfSymbol(member).getCallSignatures()
      const isOfNode = member.valueDeclaration?.getSourceFile().fileName.includes('/node_modules/')
      if (method === undefined || /^(__|prototype$)/.test(member.name) || isOfNode) continue
      add(method, { kind: 'static', entry, owner: name, name: member.name })
    }
  }

  function addMethods(symbol, { entry, name: owner }) {
    for (const member of checker.getDeclaredTypeOfSymbol(symbol).getProperties()) {
      if (/^(__|#)/.test(member.name)) continue
      const declaration = member.valueDeclaration ?? member.declarations?.[0]
      if (declaration && ts.getCombinedModifierFlags(declaration) & NOT_PUBLIC) continue
      // A callback that a caller supplies is not a method of ours.
      const isCallback =
        declaration && ts.isPropertySignature(declaration) && !OUR_CALLBACKS.has(`${owner}.${member.name}`)
      if (isCallback) continue
      const [method] = checker.getNonNullableType(checker.getTypeOfSymbol(member)).getCallSignatures()
      if (method !== undefined) add(method, { kind: 'method', entry, owner, name: member.name })
    }
  }
}

const NOT_PUBLIC = ts.ModifierFlags.Private | ts.ModifierFlags.Protected
