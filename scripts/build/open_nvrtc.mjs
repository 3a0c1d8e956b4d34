// NVRTC alone, by the addon of native/cudnn: it compiles for any architecture, without a GPU.
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** The addon in `file`, and the libraries of `folder`; throws if NVRTC there lacks a symbol. */
export function openNvrtc(file, folder) {
  const addon = createRequire(import.meta.url)(file)
  const names = readdirSync(folder)
  const nvrtc = join(folder, names.find((name) => /^libnvrtc\.so\.\d+$/.test(name)) ?? 'libnvrtc.so')
  // Its built-ins are looked for by bare name only.
  for (const name of names) if (name.startsWith('libnvrtc-builtins')) addon.openLibrary(join(folder, name))
  addon.openLibrary(nvrtc)
  const { libraries, missing } = addon.bindLibraries({ nvrtc })
  if (libraries === null) throw new Error(`symbols are missing: ${missing.join(', ')}`)
  return { addon, libraries }
}
