// MediaLoad
