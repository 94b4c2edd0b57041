// Checks which domain a host belongs to.

/** The domain itself or a subdomain. */
export const isIn = (host: string, domain: string): boolean => host === domain || host.endsWith(`.${domain}`)

/** Discord itself. Any other host is a compatible server. */
export const isDiscord = (host: string): boolean => isIn(host, 'discord.com')
