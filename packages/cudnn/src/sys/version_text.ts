/** The version of cuDNN in words: 92400 is 9.24.0; before 9 the thousands were the major version. */
export function versionText(version: number): string {
  const major = version >= 10_000 ? Math.floor(version / 10_000) : Math.floor(version / 1000)
  const rest = version - major * (version >= 10_000 ? 10_000 : 1000)
  return `${major}.${Math.floor(rest / 100)}.${rest % 100}`
}
