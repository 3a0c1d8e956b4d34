// The cache of a CMake build that was copied together with its folder, as a cache between machines or clones does.
import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Removes the build folder if its cache belongs to another folder, so that the next build configures again: `cmake --build` would
 * compile the sources of that other folder, without an error. Returns true after a removal.
 */
export function removeForeignBuild(build, source) {
  const cache = join(build, 'CMakeCache.txt')
  if (!existsSync(cache)) return false
  const text = readFileSync(cache, 'utf8')
  const folder = (name) => new RegExp(`^${name}:INTERNAL=(.*?)\\r?$`, 'm').exec(text)?.[1]
  if (isSame(folder('CMAKE_HOME_DIRECTORY'), source) && isSame(folder('CMAKE_CACHEFILE_DIR'), build)) return false
  rmSync(build, { recursive: true })
  return true
}

/** Whether two paths lead to one folder, also over links. */
function isSame(path, other) {
  return path !== undefined && existsSync(path) && realpathSync(path) === realpathSync(other)
}
