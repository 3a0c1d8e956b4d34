import type { CellVariables } from './cell_variables.js'

/** Runs `change` on the variables of several cells. If it throws, every cell is as it was before, built or not. */
export function changeTogether(cells: readonly CellVariables[], change: () => void): void {
  const savepoints = cells.map((cell) => cell.savepoint())
  try {
    change()
  } catch (error) {
    for (const restore of savepoints) restore()
    throw error
  }
}
