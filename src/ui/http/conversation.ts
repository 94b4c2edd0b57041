// What a conversation may be called by a client.

export const conversationName = /^[A-Za-z0-9._-]{1,64}$/
