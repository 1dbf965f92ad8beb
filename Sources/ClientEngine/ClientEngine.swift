// ClientEngine
