// The platforms that addons are published for, as data: one package each, which npm chooses by its os, cpu and libc.
import { join } from 'node:path'
import { readJson } from '../workspace.mjs'

/** The fields that npm compares with the machine. */
export const PLATFORMS = {
  'linux-x64-gnu': { os: 'linux', cpu: 'x64', libc: 'glibc' },
  'linux-arm64-gnu': { os: 'linux', cpu: 'arm64', libc: 'glibc' },
  'linux-x64-musl': { os: 'linux', cpu: 'x64', libc: 'musl' },
  'linux-arm64-musl': { os: 'linux', cpu: 'arm64', libc: 'musl' },
  'darwin-arm64': { os: 'darwin', cpu: 'arm64' },
  'darwin-x64': { os: 'darwin', cpu: 'x64' },
  'win32-x64': { os: 'win32', cpu: 'x64' },
  'win32-arm64': { os: 'win32', cpu: 'arm64' },
}

/** The platforms of each addon under native/: cuDNN has none for macOS; the MPI of Windows has another loader. */
export const ADDONS = {
  cpu: Object.keys(PLATFORMS),
  cudnn: ['linux-x64-gnu', 'linux-arm64-gnu', 'win32-x64'],
  mpi: ['linux-x64-gnu', 'linux-arm64-gnu', 'darwin-arm64', 'darwin-x64'],
}

/** The folder of the kernels that make_cubins.mjs compiles, beside the addon of cudnn. */
export const CUBINS = 'cubins'

/** The package that loads each addon. */
export const OWNERS = { cpu: 'cpu', cudnn: 'cudnn', mpi: 'distributed' }

/** The platform of this process, as in the names of the packages; other processors have no package. */
export function thisPlatform() {
  if (process.platform !== 'linux') return `${process.platform}-${process.arch}`
  const musl = process.report.getReport().header.glibcVersionRuntime === undefined
  return `linux-${process.arch}-${musl ? 'musl' : 'gnu'}`
}

/** Every platform package: { addon, platform, name, file, folder }, `folder` relative to the repository. */
export function platformPackages() {
  return Object.entries(ADDONS).flatMap(([addon, platforms]) =>
    platforms.map((platform) => ({
      addon,
      platform,
      name: `@cudnn-rnn/native-${addon}-${platform}`,
      file: `cudnn_rnn_${addon}.node`,
      folder: `native/${addon}/platforms/${platform}`,
    })),
  )
}

/** The manifest of a platform package; it has the version of the package that loads it. */
export function platformManifest(root, { addon, platform, name, file, folder }) {
  const manifest = readJson(join(root, 'packages', OWNERS[addon], 'package.json'))
  const { version, license, repository, engines } = manifest
  const { access } = manifest.publishConfig
  const { os, cpu, libc } = PLATFORMS[platform]
  return {
    name,
    version,
    description: `Addon of @cudnn-rnn/${OWNERS[addon]} for ${platform}`,
    license,
    repository: { ...repository, directory: folder },
    files: [file, ...(addon === 'cudnn' ? [CUBINS] : [])],
    engines,
    // pnpm writes these over the manifest that it packs. In the repository they would make every install warn of the
    // other machines, and an addon staged for a release hide the one that was built since.
    publishConfig: { access, main: file, os: [os], cpu: [cpu], ...(libc !== undefined && { libc: [libc] }) },
  }
}
