import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from 'esbuild'

/** The folder of the package that a file belongs to: the last one below node_modules. */
const PACKAGE_FOLDER = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/

/** An esbuild plugin: `dist/THIRD_PARTY_LICENSES.txt` holds the licenses of the packages that became part of the build. */
export function bundledLicenses(): Plugin {
  return {
    name: 'bundled-licenses',
    setup(build) {
      build.initialOptions.metafile = true
      build.onEnd(async ({ metafile }) => {
        const files = Object.keys(metafile?.inputs ?? {})
        const folders = new Set(files.flatMap((file) => PACKAGE_FOLDER.exec(file)?.[0] ?? []))
        if (folders.size === 0) return
        const licenses = new Map([...folders].map(licenseOf))
        const text = [...licenses].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, own]) => `${name}\n\n${own}\n`)
        const outputFolder = build.initialOptions.outdir ?? 'dist'
        await mkdir(outputFolder, { recursive: true })
        await writeFile(join(outputFolder, 'THIRD_PARTY_LICENSES.txt'), text.join(`\n${'-'.repeat(80)}\n\n`))
      })
    },
  }
}

function licenseOf(folder: string): [string, string] {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name))
  if (file === undefined && manifest.license === undefined) {
    throw new Error(`Cannot bundle ${manifest.name} as it must have a license: none was found in ${folder}`)
  }
  const text = file === undefined ? `License: ${manifest.license}` : readFileSync(join(folder, file), 'utf8').trim()
  return [`${manifest.name} ${manifest.version}`, text]
}
