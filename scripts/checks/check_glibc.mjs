// Fails if an addon for Linux requires a newer glibc than is promised, or for a C++ library of the system:
//   node scripts/checks/check_glibc.mjs 2.32 FOLDER…    the addons in prebuilds/linux-*-gnu/ of each folder
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [floor, ...folders] = process.argv.slice(2)
const numbers = (version) => version.split('.').map(Number)
const isNewer = (a, b) => numbers(a).reduce((order, part, index) => order || part - (numbers(b)[index] ?? 0), 0) > 0

/** The versions of `library` that are in an ELF file's table of names: the versions of the symbols it imports. */
function versionsOf(library, file) {
  return [...readFileSync(file, 'latin1').matchAll(new RegExp(`\\0${library}_([0-9.]+)(?=\\0)`, 'g'))].map(
    ([, version]) => version,
  )
}

const files = folders.flatMap((folder) => {
  const prebuilds = join(folder, 'prebuilds')
  const platforms = existsSync(prebuilds) ? readdirSync(prebuilds).filter((name) => /^linux-.*-gnu$/.test(name)) : []
  return platforms.flatMap((name) => readdirSync(join(prebuilds, name)).map((file) => join(prebuilds, name, file)))
})
let failures = 0
for (const file of files) {
  const newest = versionsOf('GLIBC', file).reduce((a, b) => (isNewer(b, a) ? b : a), '0')
  const shared = [...versionsOf('GLIBCXX', file), ...versionsOf('CXXABI', file)]
  const problems = [
    ...(newest === '0' ? ['names no version of glibc'] : []),
    ...(isNewer(newest, floor) ? [`requires glibc ${newest}, promised is ${floor}`] : []),
    ...(shared.length > 0 ? ['needs the C++ library of the system'] : []),
  ]
  console.log(`${file}: ${problems.length > 0 ? problems.join('; ') : `glibc ${newest}`}`)
  failures += problems.length
}
if (files.length === 0) console.error(`No addon for Linux in ${folders.join(', ')}`)
process.exitCode = failures === 0 && files.length > 0 ? 0 : 1
