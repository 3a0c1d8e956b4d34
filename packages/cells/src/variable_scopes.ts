import type { CellVariables, VariableMap } from './cell_variables.js'

/** An owner of variables inside a scope: its variables are `<scope>/<name>` outside. */
export interface ScopedCell {
  readonly scope: string
  readonly cell: CellVariables
}

/** The variables of several owners under their scopes. */
export function scopedVariables(cells: readonly ScopedCell[]): VariableMap {
  return new Map(
    cells.flatMap(({ scope, cell }) =>
      [...cell.variables].map(([name, value]) => [`${scope}/${name}`, value] as const),
    ),
  )
}

/** The part of `variables` that lies in `scope`, under its names there; the tensors are the same. */
export function inScope(variables: VariableMap, scope: string): VariableMap {
  const prefix = `${scope}/`
  return new Map(
    [...variables]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length), value]),
  )
}
