/** Opens `urls` in a new profile, each in a tab. Resolves to a function that ends the process and removes the profile. */
export function openInFirefox(executablePath: string, urls: readonly string[]): Promise<() => Promise<void>>
