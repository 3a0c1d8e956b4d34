import { mkdtempSync, rmSync } from 'node:fs'

/** Calls `use` with a new folder, whose path begins with `prefix`, and removes the folder when `use` has ended. */
export async function withTemporaryFolder<Result>(
  prefix: string,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(prefix)
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
