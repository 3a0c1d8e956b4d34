// The callables of the published packages, as their declaration files say.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { readJson, workspacePackages } from '../workspace.mjs'

/** Every entry point of every published package: its name without the scope, its declarations and its module. */
export function entryPoints(root) {
  const layers = readJson(join(root, 'scripts/layers.json'))
  return workspacePackages(root, layers)
    .filter(({ manifest }) => manifest.private !== true)
    .flatMap(({ packageName, folder, manifest }) =>
      Object.entries(manifest.exports ?? {})
        .filter(([, target]) => typeof target === 'object')
        .map(([entry, target]) => ({
          name: `${packageName}${entry.slice(1)}`.slice(layers.scope.length),
          types: join(folder, target.import.types),
          module: join(folder, target.import.default),
        })),
    )
}

/**
 * The callables: functions, constructors, static methods, and the methods of every class and interface that an entry
 * point exports or a subject is known for.
 */
export function publicApi(entries) {
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
  const callables = []
  const seen = new Set()
  const add = (callable) => {
    const declaration = callable.signature.getDeclaration()
    const key = `${callable.kind} ${callable.owner ?? ''} ${callable.name} ${declaration?.getSourceFile().fileName}:${declaration?.pos}`
    if (seen.has(key)) return
    seen.add(key)
    callables.push(callable)
  }
  for (const entry of entries) {
    const source = program.getSourceFile(entry.types)
    const moduleSymbol = checker.getSymbolAtLocation(source)
    // The facade's names are those of other packages, which are walked there.
    for (const exported of checker.getExportsOfModule(moduleSymbol)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      if (symbol.flags & ts.SymbolFlags.Value) {
        const type = checker.getTypeOfSymbol(symbol)
        const [call] = type.getCallSignatures()
        if (call !== undefined) add({ kind: 'function', entry: entry.name, name: exported.name, signature: call })
        const [construct] = type.getConstructSignatures()
        if (construct !== undefined && symbol.flags & ts.SymbolFlags.Class) {
          const abstract = ts.getCombinedModifierFlags(symbol.valueDeclaration) & ts.ModifierFlags.Abstract
          if (!abstract) add({ kind: 'constructor', entry: entry.name, name: exported.name, signature: construct })
          for (const member of type.getProperties()) {
            const [method] = checker.getTypeOfSymbol(member).getCallSignatures()
            if (method === undefined || member.name === 'prototype') continue
            add({ kind: 'static', entry: entry.name, owner: exported.name, name: member.name, signature: method })
          }
        }
      }
      if (symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface)) {
        for (const member of checker.getDeclaredTypeOfSymbol(symbol).getProperties()) {
          if (
            member.name.startsWith('__') ||
            ts.getDeclarationModifierFlagsFromSymbol?.(member) & ts.ModifierFlags.NonPublicAccessibilityModifier
          )
            continue
          const declaration = member.valueDeclaration ?? member.declarations?.[0]
          if (
            declaration &&
            ts.getCombinedModifierFlags(declaration) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)
          )
            continue
          // A callback that a caller supplies is not our method.
          if (declaration && ts.isPropertySignature(declaration)) continue
          const [method] = checker.getNonNullableType(checker.getTypeOfSymbol(member)).getCallSignatures()
          if (method === undefined) continue
          add({ kind: 'method', entry: entry.name, owner: exported.name, name: member.name, signature: method })
        }
      }
    }
  }
  return { checker, callables }
}
