// MediaEngine
