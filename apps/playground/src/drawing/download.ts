/** Hands files to the browser's downloads. */
export function download(files: readonly File[]): void {
  for (const file of files) {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(file)
    link.download = file.name
    link.click()
    // A browser may begin to read after the click has returned.
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  }
}
